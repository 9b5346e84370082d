/** What the panel shows of sharing: who reads, who writes, what sharing would mean, and what a team shares. */
import { describeStore, describeWriter } from "../hub";
import { HISTORY, SHARING } from "../texts";
import { counted } from "./figures";
import { Icon } from "./page_head";
import type { ConversationInfo, ShareResult } from "../protocol.gen";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

/** The mark of a conversation; undefined for one that was never shared. */
export function markOf(conversation: ConversationInfo): string | undefined {
    return conversation.shared === undefined ? undefined : SHARING.states[conversation.shared.state];
}

/** Who reads it, as a tooltip. */
export function describeReaders(state: State, conversation: ConversationInfo): string {
    const { shared } = conversation;
    if (shared === undefined) {
        return "";
    }
    const known = state.readers?.conversationId === conversation.conversationId ? state.readers.members : [];
    const team = shared.team === undefined ? SHARING.aTeam : SHARING.theTeam(visible(shared.team));
    const names = known.map((each) => `${visible(each.name)}${each.isSelf ? ` (${SHARING.you})` : ""}`).join(", ");
    const isAway = shared.state === "current" && state.hub?.state === "away";
    const who = shared.state === "detached" ? "" : SHARING.readBy(names === "" ? team : SHARING.namesOf(names, team));
    return `${who}${isAway ? SHARING.away : SHARING.means[shared.state]}`;
}

/** In the header: the mark, or the way to share. */
export function ShareButton({ state }: { readonly state: State }) {
    const { post } = useEnds();
    const { conversation, hub } = state;
    if (conversation === undefined || hub === undefined || hub.state === "off") {
        return null;
    }
    const said = markOf(conversation);
    if (said === undefined || conversation.shared?.state === "detached") {
        return <button type="button" class="text-btn" title={SHARING.shareTitle} onClick={() => post({ type: "share" })} data-testid="share">{SHARING.share}</button>;
    }
    return <button type="button" class="text-btn mark" title={describeReaders(state, conversation)} aria-label={`${said}. ${describeReaders(state, conversation)} ${SHARING.showReaders}`} onClick={() => post({ type: "readers" })} data-testid="shared-mark">{hub.state === "away" ? SHARING.hubAway : said}</button>;
}

/** While somebody else writes. */
export function WriterBanner({ state }: { readonly state: State }) {
    const writer = state.conversation?.shared?.writer;
    return writer === undefined ? null : <p class="note-bar" data-testid="writer"><span class="live-dot" aria-hidden="true" />{visible(describeWriter(writer))} {SHARING.waitOrFork}</p>;
}

/** What sharing would mean, to be read before it is done. */
export function SharePlanCard({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    if (state.sharePlan === undefined) {
        return null;
    }
    const { plan, conversationId } = state.sharePlan;
    return (
        <section class="decide share-plan" role="group" aria-label={SHARING.plan} data-testid="share-plan">
            <header><Icon name="broadcast" /><span class="q">{SHARING.question(visible(plan.team))}</span></header>
            <div class="text">
            <dl>
                <dt>{SHARING.whoWillRead}</dt>
                <dd>{plan.readers.map((each) => `${visible(each.name)} (${each.isSelf ? SHARING.you : each.role})`).join(", ")}. {SHARING.alsoLater}</dd>
                <dt>{SHARING.whatIsShared}</dt>
                <dd>{amount(plan)}</dd>
                {plan.removals.length > 0 && (
                    <>
                        <dt>{SHARING.removedFirst}</dt>
                        <dd><ul>{plan.removals.map((each) => <li key={each.kind}>{visible(each.kind)}: {inMessages(each.messageIds)}</li>)}</ul></dd>
                    </>
                )}
            </dl>
            {plan.files.length > 0 && (
                <details>
                    <summary>{SHARING.filesIn(counted(plan.files.length, SHARING.file))}</summary>
                    <ul>{plan.files.map((each) => <li key={each}>{visible(each)}</li>)}</ul>
                </details>
            )}
            {plan.isCopy && <p>{SHARING.aCopy}</p>}
            </div>
            <footer>
                <button type="button" class="btn" onClick={() => post({ type: "confirmShare", conversationId })} data-testid="confirm-share">{plan.isCopy ? SHARING.confirmCopy : SHARING.confirm}</button>
                <button type="button" class="btn second" onClick={() => dispatch({ type: "dismiss", what: "sharePlan" })}>{SHARING.cancel}</button>
            </footer>
        </section>
    );
}

function amount(plan: ShareResult): string {
    const kilobytes = (bytes: number) => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString("en")} kB`;
    const results = plan.resultByteCount === 0 ? "" : plan.sharesToolResults ? SHARING.withResults(kilobytes(plan.resultByteCount)) : SHARING.withoutResults;
    return SHARING.amount(counted(plan.messageCount, "message"), kilobytes(plan.byteCount), results);
}

const MOST_IDS = 8;

function inMessages(ids: readonly number[]): string {
    const more = ids.length - MOST_IDS;
    return SHARING.inMessages(ids.length === 1, ids.slice(0, MOST_IDS).join(", "), more > 0 ? SHARING.andMore(more.toLocaleString("en")) : "");
}

/** Who reads the conversation, and how far their stores have come, also with a purge. */
export function ReadersCard({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    if (state.readers?.isAsked !== true) {
        return null;
    }
    const { members, stores, headSeq } = state.readers;
    return (
        <section class="decide readers" role="group" aria-label={SHARING.readers} data-testid="readers">
            <header><Icon name="organization" /><span class="q">{SHARING.readers}</span></header>
            <div class="text">
            <ul>{members.map((each) => <li key={each.name}>{visible(each.name)}: {each.isSelf ? `${SHARING.you}, ${each.role}` : each.role}</li>)}</ul>
            <p><strong>{SHARING.whereItIs}</strong></p>
            <ul>{stores.map((each, index) => <li key={index}>{visible(describeStore(each, headSeq))}</li>)}</ul>
            </div>
            <footer>
                <button type="button" class="btn second" onClick={() => post({ type: "readers" })}>{SHARING.askAgain}</button>
                <button type="button" class="btn second" onClick={() => post({ type: "unshare" })}>{SHARING.stop}</button>
                <button type="button" class="btn second" onClick={() => dispatch({ type: "dismiss", what: "readers" })}>{SHARING.close}</button>
            </footer>
        </section>
    );
}

/** What the team shares. */
export function SharedList({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const items = state.shared?.items ?? [];
    return (
        <section class="page page-frame" aria-label={SHARING.list} data-testid="shared">
            <h2>{SHARING.sharedWith(visible(state.shared?.team ?? SHARING.yourTeam))}</h2>
            <div class="do">
                <button type="button" class="text-btn" onClick={() => post({ type: "listShared" })}>{SHARING.lookAgain}</button>
                <button type="button" class="text-btn" onClick={() => dispatch({ type: "goTo", page: "conversations" })}>{SHARING.back}</button>
            </div>
            <ul class="plain conv-list" aria-label={SHARING.list}>
                {items.map((each) => (
                    <li key={each.conversationId}>
                        <button type="button" class="conv" onClick={() => post({ type: "openShared", conversationId: each.conversationId })}>
                            <strong>{visible(each.title) || HISTORY.untitled}</strong>
                            <span class="info">{[visible(each.owner), counted(each.messageCount, "message"), new Date(each.updatedAt ?? each.createdAt).toLocaleString(), ...(each.isHere ? [SHARING.here] : []), ...(each.writer === undefined ? [] : [visible(describeWriter(each.writer))])].join(" · ")}</span>
                        </button>
                    </li>
                ))}
            </ul>
            {items.length === 0 && <p class="muted">{SHARING.none}</p>}
        </section>
    );
}
