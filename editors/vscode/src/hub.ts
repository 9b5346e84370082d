/** Words for the way to the hub and for who writes, for the host and the panel alike. */
import type { HubStatus, MovedApartParams, StoreInfo, WriterInfo } from "./protocol.gen";
import { HISTORY, SHARING } from "./texts";

/** One line for a tooltip; empty when no hub is set up. */
export function describeHub(status: HubStatus): string {
    const team = status.team === undefined ? "" : SHARING.team(status.team);
    const unsent = status.unsent === 0 ? "" : SHARING.unsent(status.unsent);
    switch (status.state) {
        case "off":
            return "";
        case "connecting":
            return SHARING.hubConnecting;
        case "connected":
            return `${SHARING.hubConnected}${team}${unsent}`;
        case "away":
            return `${SHARING.hubGone(status.since === undefined ? "" : SHARING.since(new Date(status.since).toLocaleTimeString()))}${team}${unsent}`;
        case "refused":
        case "newerNeeded":
            return `${SHARING.hubSays(status.problem ?? SHARING.saysNo)}${unsent}`;
    }
}

/** "ann is writing."; or "You are purging messages on another machine." */
export function describeWriter({ name, isSelf, work }: WriterInfo): string {
    return isSelf ? SHARING.youWrite(work) : SHARING.writes(name, work);
}

/** How far a store has come. `seq`: the entry that is to be applied, such as a purge. */
export function describeStore(store: StoreInfo, seq: number): string {
    const who = store.isThis ? SHARING.thisFolder(store.member) : store.member;
    const how = store.appliedSeq >= seq ? SHARING.hasAll : SHARING.hasPart(store.appliedSeq.toLocaleString("en"), seq.toLocaleString("en"));
    return `${who}: ${how}${store.isFollowing && !store.isThis ? SHARING.looksNow : ""}`;
}

export function describeMovedApart({ title, forkTitle }: MovedApartParams): string {
    return SHARING.movedApart(title || HISTORY.untitled, forkTitle || HISTORY.untitled);
}
