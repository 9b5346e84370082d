/** The folder's conversations, and messages found in them. */
import { useState } from "preact/hooks";

import { describeWriter } from "../hub";
import type { ConversationInfo } from "../protocol.gen";
import { useEnds } from "./post";
import { describeReaders, markOf } from "./sharing";
import type { State } from "./state";
import { visible } from "./visible";

export function Conversations({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const [query, setQuery] = useState("");
    const [showsArchived, setShowsArchived] = useState(false);
    const wanted = query.trim().toLowerCase();
    const items = state.conversations.filter((each) => (showsArchived || !each.isArchived) && titleOf(each).toLowerCase().includes(wanted));
    const hits = state.search.query === query.trim() ? state.search.hits : [];
    return (
        <section class="page" aria-label="Conversations" data-testid="conversations">
            <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); post({ type: "search", query: query.trim() }); }}>
                <input type="search" value={query} aria-label="Search conversations" placeholder="Search titles; Enter searches messages" onInput={(event) => setQuery(event.currentTarget.value)} data-testid="search" />
                <label><input type="checkbox" checked={showsArchived} onChange={(event) => setShowsArchived(event.currentTarget.checked)} /> Archived</label>
                <button type="button" onClick={() => post({ type: "newConversation" })} data-testid="new">New</button>
                {state.hub !== undefined && state.hub.state !== "off" && <button type="button" class="secondary" onClick={() => post({ type: "listShared" })} data-testid="list-shared">Shared with the team</button>}
                <button type="button" class="secondary" onClick={() => dispatch({ type: "goTo", page: "chat" })}>Back</button>
            </form>
            {hits.length > 0 && (
                <ul class="hits" aria-label="Messages found">
                    {hits.map((hit) => (
                        <li key={`${hit.conversationId}:${hit.messageId}`}>
                            <button type="button" class="plain" onClick={() => post({ type: "open", conversationId: hit.conversationId, messageId: hit.messageId })}>
                                <strong>{visible(hit.title) || "Untitled"}</strong> <span class="detail">{hit.role}, message {hit.messageId}{hit.isHidden ? ", hidden" : ""}</span>
                                <span class="snippet">{visible(hit.snippet)}</span>
                            </button>
                        </li>
                    ))}
                </ul>
            )}
            <ul class="conversations" aria-label="Conversations">
                {items.map((each) => (
                    <li key={each.conversationId} class={each.conversationId === state.conversation?.conversationId ? "current" : ""}>
                        <button type="button" class="plain" aria-current={each.conversationId === state.conversation?.conversationId} title={describeReaders(state, each)} onClick={() => post({ type: "open", conversationId: each.conversationId })}>
                            <strong>{titleOf(each)}</strong>
                            <span class="detail">{describe(each)}</span>
                        </button>
                        <span class="tools">
                            <button type="button" class="small" aria-label={`Rename ${titleOf(each)}`} onClick={() => post({ type: "rename", conversationId: each.conversationId })}>Rename</button>
                            <button type="button" class="small" aria-label={`${each.isArchived ? "Take out" : "Archive"} ${titleOf(each)}`} onClick={() => post({ type: "archive", conversationId: each.conversationId, isArchived: !each.isArchived })}>{each.isArchived ? "Take out" : "Archive"}</button>
                        </span>
                    </li>
                ))}
            </ul>
            {items.length === 0 && <p class="state">{wanted === "" ? "There is no conversation yet." : "No title matches. Enter searches the messages."}</p>}
        </section>
    );
}

export function titleOf(conversation: ConversationInfo): string {
    return visible(conversation.title) || "Untitled";
}

function describe(each: ConversationInfo): string {
    const words = [each.messageCount === 1 ? "1 message" : `${each.messageCount.toLocaleString("en")} messages`, new Date(each.updatedAt).toLocaleString()];
    if (each.parentId !== undefined) {
        words.push("fork");
    }
    const mark = markOf(each);
    if (mark !== undefined) {
        words.push(mark.toLowerCase());
    }
    if (each.isArchived) {
        words.push("archived");
    }
    if (each.shared?.writer !== undefined) {
        words.push(visible(describeWriter(each.shared.writer)));
    } else if (each.runningTurnId !== undefined) {
        words.push("answering");
    }
    if (each.draft !== "") {
        words.push("draft");
    }
    return words.join(" · ");
}
