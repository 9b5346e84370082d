/** The messages of a conversation: of however many there are, those near the window are elements. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

import { Heights } from "./heights";
import { Layer } from "./layer";
import { layerOf } from "./memory";
import { MessageRow, Skeleton } from "./message";
import { Safe } from "./safe";
import { SAID } from "../texts";
import { useEnds } from "./post";
import { isShownLive, wholeEnd, type State } from "./state";
import { TurnChanges } from "./turn_changes";
import { isInEarlierRow, isTurnEnd, secondsOf, stepsOf } from "./steps";

const GUESS_PX = 96;
/** A closed sheet with what is around it. */
const LAYER_PX = 90;
const MARGIN_PX = 800;
/** Nearer to the end than that, the list follows what comes. */
const FOLLOW_PX = 48;
/** So long after a gesture a scroll is taken for its effect: wheels run on. While the scroll bar is held, every scroll is. */
const GESTURE_MS = 1_000;
const PAGE = 100;

export function MessageList({ state, children, after }: { readonly state: State; readonly children: ComponentChildren; readonly after: ComponentChildren }) {
    const { post } = useEnds();
    const scroller = useRef<HTMLDivElement>(null);
    const heights = useRef(new Heights(0, GUESS_PX));
    const follows = useRef(true);
    /** Only a person's scrolling ends following: the list also scrolls when what it holds or its own size changes. */
    const gestureUntil = useRef(0);
    const asked = useRef(new Map<number, number>());
    const [, redraw] = useReducer((n: number) => n + 1, 0);
    const conversationId = state.conversation?.conversationId;

    /** The summaries whose messages have no rows, and by how much what is looked at moved when they came. */
    const folded = useRef<State["memory"]["summaries"]>([]);
    const shift = useRef(0);
    const sheets = useRef(state.memory.openLayers);
    const opened = useRef<string | undefined>(undefined);
    if (opened.current !== conversationId) {
        opened.current = conversationId;
        heights.current = new Heights(0, GUESS_PX);
        asked.current = new Map();
        folded.current = [];
        follows.current = state.showMessage === undefined;
    }
    heights.current.resize(state.total);
    const { summaries, openLayers } = state.memory;
    // A sheet that is opened is read from its top.
    if (sheets.current !== openLayers) {
        follows.current &&= openLayers.size === 0 || openLayers.size < sheets.current.size;
        sheets.current = openLayers;
    }
    if (folded.current !== summaries) {
        const anchor = heights.current.indexAt(scroller.current?.scrollTop ?? 0);
        const before = heights.current.offset(anchor);
        fold(heights.current, folded.current, summaries);
        folded.current = summaries;
        shift.current += heights.current.offset(anchor) - before;
    }

    /** As it was observed: to ask the element here would lay out the page while an answer streams. */
    const viewHeight = useRef(800);
    const near = () => {
        const top = follows.current ? Math.max(0, heights.current.total - viewHeight.current) : (scroller.current?.scrollTop ?? 0);
        return heights.current.window(top, viewHeight.current, MARGIN_PX);
    };
    const { start, end } = near();
    const drawn = useRef({ start, end });
    drawn.current = { start, end };

    useEffect(() => {
        if (conversationId === undefined) {
            return;
        }
        for (let id = start; id < end; id++) {
            const layer = layerOf(state.memory, id);
            if (layer !== undefined) {
                id = layer.messages.end - 1;
                continue;
            }
            const page = Math.floor(id / PAGE) * PAGE;
            // A page is asked for once while it is missing; one that was forgotten is asked for again.
            if (!state.messages.has(id) && asked.current.get(page) !== state.messages.size) {
                asked.current.set(page, state.messages.size);
                post({ type: "read", conversationId, start: page });
            }
        }
    });

    // Rows that turn out higher than guessed, above what is looked at, must not move it.
    const measure = useRef<(changed: readonly Element[]) => void>(() => undefined);
    measure.current = (changed) => {
        const list = scroller.current;
        if (list === null) {
            return;
        }
        let shift = 0;
        let hasChanged = false;
        const anchor = follows.current ? 0 : heights.current.indexAt(list.scrollTop);
        for (const row of changed) {
            const index = Number((row as HTMLElement).dataset["id"]);
            const change = heights.current.set(index, row.getBoundingClientRect().height);
            hasChanged ||= Math.abs(change) > 0.5;
            shift += index < anchor ? change : 0;
        }
        if (follows.current) {
            list.scrollTop = list.scrollHeight;
        } else if (shift !== 0) {
            list.scrollTop += shift;
        }
        if (hasChanged) {
            redraw(0);
        }
    };
    // One observer for as long as the list is there: whatever in it changes its size is seen before it is painted.
    const observed = useRef({ rows: new Set<Element>(), by: undefined as ResizeObserver | undefined });
    useLayoutEffect(() => {
        const list = scroller.current;
        const content = list?.firstElementChild;
        if (list === null || content === null || content === undefined) {
            return;
        }
        const observer = new ResizeObserver((entries) => {
            for (const entry of entries) {
                if (entry.target === list) {
                    viewHeight.current = list.clientHeight;
                }
            }
            measure.current(entries.map((entry) => entry.target).filter((each) => each.isConnected && each.matches("[data-id]")));
        });
        observer.observe(list);
        observer.observe(content);
        observed.current.by = observer;
        return () => {
            observer.disconnect();
        };
    }, []);
    useLayoutEffect(() => {
        const list = scroller.current;
        const { rows, by } = observed.current;
        if (list === null || by === undefined) {
            return;
        }
        const now = new Set(list.querySelectorAll("[data-id]"));
        for (const row of rows) {
            if (!now.has(row)) {
                by.unobserve(row);
            }
        }
        for (const row of now) {
            if (!rows.has(row)) {
                by.observe(row);
            }
        }
        observed.current.rows = now;
        if (follows.current) {
            list.scrollTop = list.scrollHeight;
        } else if (shift.current !== 0) {
            list.scrollTop += shift.current;
        }
        shift.current = 0;
    }, [start, end, state.messages, state.total, summaries, conversationId]);

    useLayoutEffect(() => {
        if (state.showMessage !== undefined && scroller.current !== null) {
            follows.current = false;
            scroller.current.scrollTop = heights.current.offset(layerOf(state.memory, state.showMessage)?.messages.start ?? state.showMessage);
            redraw(0);
        }
    }, [state.showMessage, conversationId]);

    // Whoever asks something wants to see what comes of it.
    const question = state.live?.question;
    const isJump = useRef(state.showMessage !== undefined);
    useLayoutEffect(() => {
        if (isJump.current) {
            isJump.current = false; // what was asked before the list came is not what somebody wants to see
        } else if ((question !== undefined || state.reply !== undefined) && scroller.current !== null) {
            follows.current = true;
            scroller.current.scrollTop = scroller.current.scrollHeight;
            redraw(0);
        }
    }, [question, state.reply]);

    const changesOf = (turnId: string) => state.fileChanges.filter((each) => each.turnId === turnId);
    const rows = [];
    for (let id = start; id < end; id++) {
        const layer = layerOf(state.memory, id);
        if (layer !== undefined) {
            if (id === layer.messages.start && conversationId !== undefined) {
                rows.push(
                    <div key={`${conversationId} ${id}`} data-id={id} class="row">
                        <Layer summary={layer} layer={state.memory.openLayers.get(id)} messages={state.messages} conversationId={conversationId} marked={state.showMessage} />
                    </div>,
                );
            }
            id = layer.messages.end - 1;
            continue;
        }
        const message = state.messages.get(id);
        const isLive = message !== undefined && isShownLive(state, message);
        rows.push(
            <div key={`${conversationId ?? ""} ${id}`} data-id={id} class="row">
                {message === undefined ? <Skeleton id={id} /> : isLive || isInEarlierRow(state, message) ? null : (
                    <Safe id={id}><MessageRow message={message} total={state.total} isMarked={id === state.showMessage} steps={stepsOf(state, message)} isNewest={id === state.total - 1} isTurnEnd={isTurnEnd(state, message)} seconds={secondsOf(state, message)} cost={message.turnId === undefined ? undefined : state.turnCosts.get(message.turnId)} retry={id === state.total - 1 ? wholeEnd(state) : undefined} /></Safe>
                )}
                {message !== undefined && !isLive && message.turnId !== undefined && message.role === "assistant" && isTurnEnd(state, message) && changesOf(message.turnId).length > 0 && (
                    <TurnChanges turnId={message.turnId} changes={changesOf(message.turnId)} retry={id === state.total - 1 ? wholeEnd(state) : undefined} />
                )}
            </div>,
        );
    }
    const onScroll = () => {
        const list = scroller.current;
        if (list !== null) {
            const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOW_PX;
            follows.current = isAtEnd || (follows.current && performance.now() > gestureUntil.current);
            const now = near();
            if (now.start !== drawn.current.start || now.end !== drawn.current.end) {
                redraw(0);
            }
        }
    };
    const gesture = () => {
        gestureUntil.current = performance.now() + GESTURE_MS;
    };
    const hold = () => {
        gestureUntil.current = Infinity; // until it is let go, wherever the pointer is then
        window.addEventListener("pointerup", gesture, { once: true });
    };
    return (
        <div class="messages" ref={scroller} onScroll={onScroll} onWheel={gesture} onPointerMove={(event) => { if (event.buttons !== 0) { gesture(); } }} onPointerDown={hold} onTouchMove={gesture} onKeyDown={(event) => { gesture(); moveFocus(event, scroller.current); }} data-testid="messages">
            <div class="content">
                <div tabIndex={0} {...(state.total > 0 || state.live !== undefined ? { role: "feed", "aria-label": SAID.conversation, "aria-busy": state.live !== undefined } : {})}>
                    <div style={{ height: `${heights.current.offset(start)}px` }} />
                    {rows}
                    <div style={{ height: `${Math.max(0, heights.current.total - heights.current.offset(end))}px` }} />
                    {children}
                </div>
                <div class="after">{after}</div>
            </div>
        </div>
    );
}

/** What a summary stands for takes no room but for its sheet, which lies in the row of its first message. */
function fold(heights: Heights, before: State["memory"]["summaries"], after: State["memory"]["summaries"]): void {
    for (const { messages } of before) {
        heights.fill(messages.start, messages.end, GUESS_PX);
    }
    for (const { messages } of after) {
        heights.fill(messages.start, messages.start + 1, LAYER_PX);
        heights.fill(messages.start + 1, messages.end, 0);
    }
}

/** Up and Down go from message to message while the focus is on one, or on the list. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
    const target = event.target;
    if (list === null || !(target instanceof HTMLElement) || (event.key !== "ArrowUp" && event.key !== "ArrowDown") || !(target.matches("[role=feed], article"))) {
        return;
    }
    const articles = [...list.querySelectorAll<HTMLElement>("article")];
    const at = articles.indexOf(target);
    const next = at === -1 ? articles.at(-1) : articles[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (next !== undefined) {
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest" });
    }
}
