/** The folder's conversations by day, and messages found in them. */
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { describeWriter } from "../hub";
import type { ConversationInfo, SearchHit } from "../protocol.gen";
import { HISTORY, SAID, SHARING } from "../texts";
import { marked, periodsOf } from "./conversation_days";
import { counted, day, daysBetween, moment, time } from "./figures";
import type { Memory } from "./memory";
import { useContextMenu } from "./menu";
import { Icon, IconButton, PageHead } from "./page_head";
import { useEnds } from "./post";
import { moveAmong } from "./roving";
import { describeReaders, markOf } from "./sharing";
import type { State } from "./state";
import { visible } from "./visible";

/** After so long without a key the messages are searched as well. */
const SEARCH_MS = 300;

export function Conversations({ state }: { readonly state: State }) {
    const { post } = useEnds();
    const [query, setQuery] = useState("");
    const [showsArchived, setShowsArchived] = useState(false);
    const wanted = query.trim();
    const searching = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    useEffect(() => () => clearTimeout(searching.current), []);
    const search = (text: string) => {
        clearTimeout(searching.current);
        post({ type: "search", query: text });
    };
    const type = (text: string) => {
        setQuery(text);
        clearTimeout(searching.current);
        searching.current = setTimeout(() => search(text.trim()), SEARCH_MS);
    };
    const left = state.conversations.filter((each) => !isDeleted(each));
    const archived = left.filter((each) => each.isArchived);
    const hits = wanted !== "" && state.search.query === wanted ? state.search.hits : [];
    const items = wanted === "" ? left.filter((each) => each.isArchived === showsArchived) : left.filter((each) => titleOf(each).toLowerCase().includes(wanted.toLowerCase()));
    const now = new Date();
    return (
        <section class="page-frame" aria-label={HISTORY.title} data-testid="conversations">
            <PageHead title={HISTORY.title}>
                {state.hub !== undefined && state.hub.state !== "off" && <button type="button" class="text-btn" onClick={() => post({ type: "listShared" })} data-testid="list-shared">{SHARING.withTheTeam}</button>}
                <IconButton icon="add" name={HISTORY.new} onClick={() => post({ type: "newConversation" })} testId="new" />
            </PageHead>
            <div class="page" onKeyDown={(event) => moveAmong(event, ".conv .open")}>
                {left.length > 0 && <form role="search" onSubmit={(event) => { event.preventDefault(); search(wanted); }}>
                    <label class="search-box">
                        <Icon name="search" />
                        <input type="search" value={query} aria-label={HISTORY.search} placeholder={HISTORY.placeholder} onInput={(event) => type(event.currentTarget.value)} data-testid="search" />
                        {query !== "" && <IconButton icon="close" name={HISTORY.clear} onClick={() => type("")} />}
                    </label>
                </form>}
                {wanted === "" && archived.length > 0 && (
                    <div class="filters" role="group" aria-label={SAID.show}>
                        <button type="button" class="filter" aria-pressed={!showsArchived} onClick={() => setShowsArchived(false)}>{HISTORY.current}</button>
                        <button type="button" class="filter" aria-pressed={showsArchived} onClick={() => setShowsArchived(true)}>{HISTORY.archived} {archived.length}</button>
                    </div>
                )}
                {wanted === "" ? (
                    periodsOf(items, now).map(({ name, items: those }) => <Period key={name} name={name} items={those} state={state} now={now} />)
                ) : (
                    <>
                        {items.length > 0 && <Period name={HISTORY.titles} items={items} state={state} now={now} />}
                        {hits.length > 0 && <Hits hits={hits} query={wanted} now={now} />}
                    </>
                )}
                {items.length === 0 && hits.length === 0 && <p class="muted">{wanted !== "" ? HISTORY.noMatch : showsArchived ? HISTORY.noneArchived : HISTORY.none}</p>}
            </div>
        </section>
    );
}

function Period({ name, items, state, now }: { readonly name: string; readonly items: readonly ConversationInfo[]; readonly state: State; readonly now: Date }) {
    return (
        <>
            <h2 class="date-head">{name}</h2>
            <ul class="plain conv-list" aria-label={name}>
                {items.map((each) => <Row key={each.conversationId} each={each} state={state} now={now} />)}
            </ul>
        </>
    );
}

function Row({ each, state, now }: { readonly each: ConversationInfo; readonly state: State; readonly now: Date }) {
    const { post } = useEnds();
    const { conversationId } = each;
    const title = titleOf(each);
    const isCurrent = conversationId === state.conversation?.conversationId;
    const onContextMenu = useContextMenu(title, () => [
        { label: HISTORY.open, icon: "comment-discussion", onPick: () => post({ type: "open", conversationId }) },
        { label: HISTORY.rename, icon: "edit", beginsGroup: true, onPick: () => post({ type: "rename", conversationId }) },
        { label: each.isArchived ? HISTORY.takeOut : HISTORY.archive, icon: "archive", onPick: () => post({ type: "archive", conversationId, isArchived: !each.isArchived }) },
        { label: HISTORY.delete, icon: "trash", onPick: () => post({ type: "planDeletion", conversationId }) },
    ]);
    if (state.memory.deletion?.conversationId === conversationId) {
        return <li><Deletion each={each} deletion={state.memory.deletion} /></li>;
    }
    return (
        <li class={`conv${isCurrent ? " is-current" : ""}`} onContextMenu={onContextMenu} onKeyDown={(event) => { if (event.key === "F2") { post({ type: "rename", conversationId }); } else if (event.key === "Delete") { post({ type: "planDeletion", conversationId }); } }}>
            <button type="button" class="open" aria-current={isCurrent} title={describeReaders(state, each)} onClick={() => post({ type: "open", conversationId })}>
                <span class="name">
                    {each.parentId !== undefined && <><Icon name="repo-forked" /><span class="sr">{SAID.fork}: </span></>}
                    <span class="ellipsis">{title}</span>
                </span>
                <span class="info">{describe(each, state, now)}</span>
            </button>
            <div class="acts" role="toolbar" aria-label={title}>
                <IconButton icon="edit" name={HISTORY.rename} onClick={() => post({ type: "rename", conversationId })} />
                <IconButton icon="archive" name={each.isArchived ? HISTORY.takeOut : HISTORY.archive} onClick={() => post({ type: "archive", conversationId, isArchived: !each.isArchived })} />
                <IconButton icon="trash" name={HISTORY.delete} onClick={() => post({ type: "planDeletion", conversationId })} />
            </div>
        </li>
    );
}

/** What would go, before it goes. */
function Deletion({ each, deletion }: { readonly each: ConversationInfo; readonly deletion: NonNullable<Memory["deletion"]> }) {
    const { post, dispatch } = useEnds();
    const { plan, conversationId } = deletion;
    const what = [
        counted(plan.messageCount, "message"),
        ...(plan.summaryCount === 0 ? [] : [counted(plan.summaryCount, "summary", "summaries")]),
        ...(plan.factCount === 0 ? [] : [counted(plan.factCount, "fact")]),
    ];
    const named = what.length === 1 ? what.join("") : `${what.slice(0, -1).join(", ")} and ${what.at(-1) ?? ""}`;
    const also = plan.alsoPurged.length === 0 ? "" : HISTORY.alsoLose(counted(plan.alsoPurged.length, HISTORY.otherConversation), plan.alsoPurged.length === 1);
    return (
        <div class="notice bad" role="alertdialog" onKeyDown={(event) => { if (event.key === "Escape") { event.stopPropagation(); dispatch({ type: "cancelDeletion" }); } }} aria-label={HISTORY.question(titleOf(each))} data-testid="deletion">
            <Icon name="trash" />
            <div class="body">
                <p><strong>{HISTORY.question(titleOf(each))}</strong></p>
                <p>{named}. {HISTORY.cannotBeUndone}{also}</p>
            </div>
            <div class="do">
                <button type="button" class="btn" onClick={() => post({ type: "deleteForGood", conversationId })}>{HISTORY.deleteForGood}</button>
                {!each.isArchived && <button type="button" class="btn second" onClick={() => { dispatch({ type: "cancelDeletion" }); post({ type: "archive", conversationId, isArchived: true }); }}>{HISTORY.archiveInstead}</button>}
                <button type="button" class="text-btn" ref={focus} onClick={() => dispatch({ type: "cancelDeletion" })}>{HISTORY.cancel}</button>
            </div>
        </div>
    );
}

const focus = (element: HTMLElement | null): void => element?.focus();

function Hits({ hits, query, now }: { readonly hits: readonly SearchHit[]; readonly query: string; readonly now: Date }) {
    const { post } = useEnds();
    return (
        <>
            <h2 class="date-head">{HISTORY.messages}</h2>
            <ul class="plain conv-list" aria-label={HISTORY.found}>
                {hits.map((hit) => (
                    <li key={`${hit.conversationId}:${hit.messageId}`} class="conv hit">
                        <button type="button" class="open" onClick={() => post({ type: "open", conversationId: hit.conversationId, messageId: hit.messageId })}>
                            <span class="name ellipsis">{visible(hit.title) || HISTORY.untitled}</span>
                            <q>{marked(visible(hit.snippet), query).map((piece, index) => (index % 2 === 1 ? <mark key={index}>{piece}</mark> : <Fragment key={index}>{piece}</Fragment>))}</q>
                            <span class="info"><span>{HISTORY.roles[hit.role]}, {moment(new Date(hit.createdAt), now)}</span>{hit.isHidden && <span>· {HISTORY.hidden}</span>}</span>
                        </button>
                    </li>
                ))}
            </ul>
        </>
    );
}

export function titleOf(conversation: ConversationInfo): string {
    return visible(conversation.title) || (conversation.messageCount === 0 ? HISTORY.new : HISTORY.untitled);
}

/** Whether it was deleted for good: its words and with them its title are gone, and it is archived. */
const isDeleted = (each: ConversationInfo): boolean => each.isArchived && each.title === "" && each.messageCount > 0;

/** The line under a title: what goes on there comes before figures. */
function describe(each: ConversationInfo, state: State, now: Date) {
    const at = new Date(each.updatedAt);
    const when = daysBetween(at, now) <= 0 ? time(at) : day(at, now);
    const writer = each.shared?.writer;
    const isBroken = state.recovery.some((one) => one.conversationId === each.conversationId);
    const mark = markOf(each);
    const parts = [];
    if (writer !== undefined) {
        parts.push(<span class="ok"><Icon name="loading" spin /> {visible(describeWriter(writer))}</span>);
    } else if (each.runningTurnId !== undefined) {
        parts.push(<span class="ok"><Icon name="loading" spin /> {HISTORY.answering}</span>);
    } else if (isBroken) {
        parts.push(<span class="warn"><Icon name="debug-disconnect" /> {HISTORY.brokeOff}</span>, <span>{when}</span>);
    } else if (each.draft !== "") {
        parts.push(<span class="ellipsis"><Icon name="edit" /> {HISTORY.draft(visible(each.draft).slice(0, 80))}</span>);
    } else {
        parts.push(<span>{when}</span>, <span class="opt">{counted(each.messageCount, "message")}</span>, <span class="ellipsis">{visible(each.model)}</span>);
    }
    if (mark !== undefined) {
        parts.push(<span>{mark.toLowerCase()}</span>);
    }
    return parts.map((part, index) => <Fragment key={index}>{index > 0 && <span aria-hidden="true">·</span>}{part}</Fragment>);
}
