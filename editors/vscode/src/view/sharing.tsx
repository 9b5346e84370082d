/** What the panel shows of sharing: who reads, who writes, what sharing would mean, and what a team shares. */
import { describeStore, describeWriter } from "../hub";
import { Icon } from "./page_head";
import type { ConversationInfo, ShareResult } from "../protocol.gen";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

const STATES = { current: "Shared", behind: "Shared, behind", apart: "Shared, not sent yet", detached: "No longer shared" } as const;
const AWAY = "The hub does not answer, so others may have more. You can read this, and go on in a fork.";
const MEANS = {
    current: "Everybody has the same.",
    behind: "The hub has more, which could not be taken in yet.",
    apart: "What was said here while the hub was away is sent when it is back.",
    detached: "The hub does not have it any more.",
} as const;

/** The mark of a conversation; undefined for one that was never shared. */
export function markOf(conversation: ConversationInfo): string | undefined {
    return conversation.shared === undefined ? undefined : STATES[conversation.shared.state];
}

/** Who reads it, as a tooltip. */
export function describeReaders(state: State, conversation: ConversationInfo): string {
    const { shared } = conversation;
    if (shared === undefined) {
        return "";
    }
    const known = state.readers?.conversationId === conversation.conversationId ? state.readers.members : [];
    const team = shared.team === undefined ? "a team" : `the team ${visible(shared.team)}`;
    const names = known.map((each) => `${visible(each.name)}${each.isSelf ? " (you)" : ""}`).join(", ");
    const isAway = shared.state === "current" && state.hub?.state === "away";
    const who = shared.state === "detached" ? "" : names === "" ? `Read by ${team}. ` : `Read by ${names} of ${team}. `;
    return `${who}${isAway ? AWAY : MEANS[shared.state]}`;
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
        return <button type="button" class="text-btn" title="Share this conversation with your team" onClick={() => post({ type: "share" })} data-testid="share">Share…</button>;
    }
    return <button type="button" class="text-btn mark" title={describeReaders(state, conversation)} aria-label={`${said}. ${describeReaders(state, conversation)} Show who reads it`} onClick={() => post({ type: "readers" })} data-testid="shared-mark">{hub.state === "away" ? "Hub\u00a0away" : said}</button>;
}

/** While somebody else writes. */
export function WriterBanner({ state }: { readonly state: State }) {
    const writer = state.conversation?.shared?.writer;
    return writer === undefined ? null : <p class="note-bar" data-testid="writer"><span class="live-dot" aria-hidden="true" />{visible(describeWriter(writer))} You can wait for the end, or go on in a fork.</p>;
}

/** What sharing would mean, to be read before it is done. */
export function SharePlanCard({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    if (state.sharePlan === undefined) {
        return null;
    }
    const { plan, conversationId } = state.sharePlan;
    return (
        <section class="decide share-plan" role="group" aria-label="Share this conversation" data-testid="share-plan">
            <header><Icon name="broadcast" /><span class="q">Share with the team {visible(plan.team)}?</span></header>
            <div class="text">
            <dl>
                <dt>Who will read it</dt>
                <dd>{plan.readers.map((each) => `${visible(each.name)} (${each.isSelf ? "you" : each.role})`).join(", ")}. They also read what is said later.</dd>
                <dt>What is shared</dt>
                <dd>{amount(plan)}</dd>
                {plan.removals.length > 0 && (
                    <>
                        <dt>What is taken out first</dt>
                        <dd><ul>{plan.removals.map((each) => <li key={each.kind}>{visible(each.kind)}: {inMessages(each.messageIds)}</li>)}</ul></dd>
                    </>
                )}
            </dl>
            {plan.files.length > 0 && (
                <details>
                    <summary>Results of tools may hold text of {plan.files.length === 1 ? "1 file" : `${plan.files.length} files`}</summary>
                    <ul>{plan.files.map((each) => <li key={each}>{visible(each)}</li>)}</ul>
                </details>
            )}
            {plan.isCopy && <p>A copy is shared. This conversation stays as it is, and yours alone.</p>}
            </div>
            <footer>
                <button type="button" class="btn" onClick={() => post({ type: "confirmShare", conversationId })} data-testid="confirm-share">{plan.isCopy ? "Share a copy" : "Share"}</button>
                <button type="button" class="btn second" onClick={() => dispatch({ type: "dismiss", what: "sharePlan" })}>Cancel</button>
            </footer>
        </section>
    );
}

function amount(plan: ShareResult): string {
    const kilobytes = (bytes: number) => `${Math.max(1, Math.round(bytes / 1000)).toLocaleString("en")} kB`;
    const messages = plan.messageCount === 1 ? "1 message" : `${plan.messageCount.toLocaleString("en")} messages`;
    const results = plan.resultByteCount === 0 ? "" : plan.sharesToolResults ? `, of which ${kilobytes(plan.resultByteCount)} are results of tools` : "; the results of tools stay here";
    return `${messages}, ${kilobytes(plan.byteCount)}${results}.`;
}

const MOST_IDS = 8;

function inMessages(ids: readonly number[]): string {
    const more = ids.length - MOST_IDS;
    return `${ids.length === 1 ? "message" : "messages"} ${ids.slice(0, MOST_IDS).join(", ")}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}`;
}

/** Who reads the conversation, and how far their stores have come, also with a purge. */
export function ReadersCard({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    if (state.readers?.isAsked !== true) {
        return null;
    }
    const { members, stores, headSeq } = state.readers;
    return (
        <section class="decide readers" role="group" aria-label="Who reads this conversation" data-testid="readers">
            <header><Icon name="organization" /><span class="q">Who reads this conversation</span></header>
            <div class="text">
            <ul>{members.map((each) => <li key={each.name}>{visible(each.name)}: {each.isSelf ? `you, ${each.role}` : each.role}</li>)}</ul>
            <p><strong>Where it is</strong></p>
            <ul>{stores.map((each, index) => <li key={index}>{visible(describeStore(each, headSeq))}</li>)}</ul>
            </div>
            <footer>
                <button type="button" class="btn second" onClick={() => post({ type: "readers" })}>Ask again</button>
                <button type="button" class="btn second" onClick={() => post({ type: "unshare" })}>Stop sharing</button>
                <button type="button" class="btn second" onClick={() => dispatch({ type: "dismiss", what: "readers" })}>Close</button>
            </footer>
        </section>
    );
}

/** What the team shares. */
export function SharedList({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const items = state.shared?.items ?? [];
    return (
        <section class="page page-frame" aria-label="Shared conversations" data-testid="shared">
            <h2>Shared with {visible(state.shared?.team ?? "your team")}</h2>
            <div class="do">
                <button type="button" class="text-btn" onClick={() => post({ type: "listShared" })}>Look again</button>
                <button type="button" class="text-btn" onClick={() => dispatch({ type: "goTo", page: "conversations" })}>Back</button>
            </div>
            <ul class="plain conv-list" aria-label="Shared conversations">
                {items.map((each) => (
                    <li key={each.conversationId}>
                        <button type="button" class="conv" onClick={() => post({ type: "openShared", conversationId: each.conversationId })}>
                            <strong>{visible(each.title) || "Untitled"}</strong>
                            <span class="info">{[visible(each.owner), each.messageCount === 1 ? "1 message" : `${each.messageCount.toLocaleString("en")} messages`, new Date(each.updatedAt ?? each.createdAt).toLocaleString(), ...(each.isHere ? ["here"] : []), ...(each.writer === undefined ? [] : [visible(describeWriter(each.writer))])].join(" · ")}</span>
                        </button>
                    </li>
                ))}
            </ul>
            {items.length === 0 && <p class="muted">The team shares no conversation yet.</p>}
        </section>
    );
}
