/** A summary as a sheet where its messages were: closed, or open with what it says, or with the originals in place. */
import { useEffect, useRef } from "preact/hooks";

import type { MessageInfo, MessagePart, SummaryInfo } from "../protocol.gen";
import { FACTS, HISTORY, LAYER, SAID } from "../texts";
import { counted, daysBetween, moment, short, time } from "./figures";
import { FIRST_ORIGINALS, type OpenLayer } from "./memory";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { callOf, resultsOf } from "./steps";
import { Markdown } from "./text";
import { ToolCalls } from "./tool_line";
import { visible } from "./visible";

/** How many more originals at a time. */
const MORE = 50;

interface Props {
    readonly summary: SummaryInfo;
    /** Undefined: closed. */
    readonly layer: OpenLayer | undefined;
    readonly messages: ReadonlyMap<number, MessageInfo>;
    readonly conversationId: string;
    /** A message to show. */
    readonly marked: number | undefined;
}

export function Layer({ summary, layer, messages, conversationId, marked }: Props) {
    const { post, dispatch } = useEnds();
    const { start, end } = summary.messages;
    const n = end - start;
    const isOpen = layer !== undefined;
    const show = (to: OpenLayer | undefined) => dispatch({ type: "layer", start, layer: to });
    const undo = () => post({ type: "expand", summaryId: summary.summaryId });
    return (
        <article class={`layer${isOpen ? " is-open" : ""}`} tabIndex={-1} aria-label={`${LAYER.name}: ${LAYER.messages(start, end - 1)}`} data-testid="layer">
            <div class="top">
                <button type="button" class="toggle" aria-expanded={isOpen} title={`${summary.originalTokens.toLocaleString("en")} → ${counted(summary.tokens, "token")}`} onClick={() => show(isOpen ? undefined : { tab: "summary", shown: FIRST_ORIGINALS })}>
                    <Icon name="layers" />
                    <span class="what">
                        <b>{LAYER.summarized(counted(n, "message"))}</b>
                        <span class="num">{short(summary.originalTokens)} → {short(summary.tokens)}<span class="hide-mid"> {SAID.tokens}</span></span>
                    </span>
                    {!isOpen && <span class="hide-mid muted">{LAYER.showOriginals}</span>}
                    <i class="codicon codicon-chevron-right turn-arrow" aria-hidden="true" />
                </button>
                <IconButton icon="discard" name={LAYER.undoShort} onClick={undo} />
            </div>
            {isOpen && (
                <div class="sheet">
                    <div class="tabs" role="group" aria-label={SAID.shown}>
                        <button type="button" aria-pressed={layer.tab === "summary"} onClick={() => show({ ...layer, tab: "summary" })}>{LAYER.summary}</button>
                        <button type="button" aria-pressed={layer.tab === "originals"} onClick={() => show({ ...layer, tab: "originals" })}>{LAYER.originals(n)}</button>
                    </div>
                    {layer.tab === "summary" ? (
                        <div class="say"><Markdown text={summary.text} /></div>
                    ) : (
                        <Originals start={start} end={end} shown={layer.shown} messages={messages} conversationId={conversationId} marked={marked} onMore={() => show({ ...layer, shown: layer.shown + MORE })} />
                    )}
                    <footer>
                        <button type="button" class="text-btn" onClick={undo}><Icon name="discard" />{LAYER.undo}</button>
                        <button type="button" class="text-btn" onClick={() => post({ type: "regenerate", summaryId: summary.summaryId })}><Icon name="refresh" />{LAYER.again}</button>
                    </footer>
                </div>
            )}
        </article>
    );
}

const PAGE = 100;

interface OriginalsProps {
    readonly start: number;
    readonly end: number;
    readonly shown: number;
    readonly messages: ReadonlyMap<number, MessageInfo>;
    readonly conversationId: string;
    readonly marked: number | undefined;
    readonly onMore: () => void;
}

function Originals({ start, end, shown, messages, conversationId, marked, onMore }: OriginalsProps) {
    const { post } = useEnds();
    const asked = useRef(new Set<number>());
    const mark = useRef<HTMLDivElement>(null);
    const last = Math.min(end, start + shown);
    useEffect(() => {
        for (let id = start; id < last; id++) {
            const page = Math.floor(id / PAGE) * PAGE;
            if (!messages.has(id) && !asked.current.has(page)) {
                asked.current.add(page);
                post({ type: "read", conversationId, start: page });
            }
        }
    });
    useEffect(() => {
        mark.current?.scrollIntoView({ block: "center" });
    }, [marked]);
    const now = new Date();
    const rows = [];
    let before: Date | undefined;
    let markedRow = marked;
    while (markedRow !== undefined && messages.get(markedRow)?.role === "tool") {
        markedRow -= 1; // what a tool said is in the line of its call
    }
    for (let id = start; id < last; id++) {
        const message = messages.get(id);
        if (message !== undefined && !message.isHidden && message.role !== "tool") {
            const at = new Date(message.createdAt);
            const isSameDay = before !== undefined && daysBetween(before, at) === 0;
            rows.push(<Original key={id} message={message} at={isSameDay ? time(at) : moment(at, now)} results={resultsOf(messages, message)} mark={id === markedRow ? mark : undefined} />);
            before = at;
        }
    }
    return (
        <div class="old" data-testid="originals">
            {rows.length === 0 ? <p class="muted" role="status">{LAYER.reading}</p> : <div role="list" aria-label={LAYER.originalsName}>{rows}</div>}
            {last < end && <button type="button" class="text-btn" onClick={onMore}>{LAYER.showMore(Math.min(MORE, end - last))}</button>}
        </div>
    );
}

interface OriginalProps {
    readonly message: MessageInfo;
    readonly at: string;
    /** Of the tools that it called. */
    readonly results: readonly MessagePart[];
    readonly mark: { current: HTMLDivElement | null } | undefined;
}

function Original({ message, at, results, mark }: OriginalProps) {
    const { role, author } = message;
    const who = role === "user" && author !== undefined ? visible(author) : HISTORY.roles[role];
    const calls = message.parts.filter((part) => part.type === "tool_call").map((call) => callOf(call, results));
    return (
        <div role="listitem" data-original={message.id} class={mark === undefined ? "" : "is-marked"} {...(mark === undefined ? {} : { ref: mark })}>
            <span class="who">{who} · {at}</span>
            {message.isPurged === true ? <p class="muted">{LAYER.deleted}</p> : message.text !== "" && <div class="say"><Markdown text={message.text} /></div>}
            {calls.length > 0 && <ToolCalls calls={calls} />}
        </div>
    );
}

/** Above the composer while facts are stale; hidden until their number changes. */
export function StaleLine({ stale, hidden }: { readonly stale: number; readonly hidden: number }) {
    const { post, dispatch } = useEnds();
    if (stale === 0 || stale === hidden) {
        return null;
    }
    return (
        <div class="slim warn" role="status" data-testid="stale-facts">
            <Icon name="warning" />
            <span class="ellipsis">{FACTS.mayBeOut(stale)}</span>
            <span class="spring" />
            <button type="button" class="text-btn" onClick={() => { post({ type: "listFacts" }); dispatch({ type: "goTo", page: "facts" }); }}>{FACTS.review}</button>
            <IconButton icon="close" name={FACTS.hide} onClick={() => dispatch({ type: "hideStale" })} />
        </div>
    );
}
