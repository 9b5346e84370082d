/** Words for the way to the hub and for who writes, for the host and the panel alike. */
import type { HubStatus, MovedApartParams, StoreInfo, WriterInfo } from "./protocol.gen";

/** One line for a tooltip; empty when no hub is set up. */
export function describeHub(status: HubStatus): string {
    const team = status.team === undefined ? "" : ` Team ${status.team}.`;
    const unsent = status.unsent === 0 ? "" : ` ${status.unsent.toLocaleString("en")} ${status.unsent === 1 ? "entry is" : "entries are"} not sent yet.`;
    switch (status.state) {
        case "off":
            return "";
        case "connecting":
            return "Hub: connecting.";
        case "connected":
            return `Hub: connected.${team}${unsent}`;
        case "away":
            return `Hub: away${status.since === undefined ? "" : ` since ${new Date(status.since).toLocaleTimeString()}`}.${team}${unsent}`;
        case "refused":
        case "newerNeeded":
            return `Hub: ${status.problem ?? "it says no."}${unsent}`;
    }
}

/** "ann is writing."; or "You are purging messages on another machine." */
export function describeWriter({ name, isSelf, work }: WriterInfo): string {
    return isSelf ? `You are ${work} on another machine.` : `${name} is ${work}.`;
}

/** How far a store has come. `seq`: the entry that is to be applied, such as a purge. */
export function describeStore(store: StoreInfo, seq: number): string {
    const who = store.isThis ? `${store.member}, this folder` : store.member;
    const how = store.appliedSeq >= seq ? "has everything" : `has ${store.appliedSeq.toLocaleString("en")} of ${seq.toLocaleString("en")} entries`;
    return `${who}: ${how}${store.isFollowing && !store.isThis ? ", looks at it now" : ""}`;
}

export function describeMovedApart({ title, forkTitle }: MovedApartParams): string {
    return `Somebody else wrote “${title || "Untitled"}” while the hub was away. What you wrote there meanwhile is in “${forkTitle || "Untitled"}” now.`;
}
