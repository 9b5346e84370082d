/** The messages of a conversation: of however many there are, those near the window are elements. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef } from "preact/hooks";

import { Heights } from "./heights";
import { MessageRow, Skeleton } from "./message";
import { useEnds } from "./post";
import { isShownLive, type State } from "./state";

const GUESS_PX = 96;
const MARGIN_PX = 800;
/** Nearer to the end than that, the list follows what comes. */
const FOLLOW_PX = 48;
/** So long after a gesture a scroll is taken for its effect: wheels run on. */
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

    const opened = useRef<string | undefined>(undefined);
    if (opened.current !== conversationId) {
        opened.current = conversationId;
        heights.current = new Heights(0, GUESS_PX);
        asked.current = new Map();
        follows.current = state.showMessage === undefined;
    }
    heights.current.resize(state.total);

    const view = scroller.current;
    const height = view?.clientHeight ?? 800;
    const top = follows.current ? Math.max(0, heights.current.total - height) : (view?.scrollTop ?? 0);
    const { start, end } = heights.current.window(top, height, MARGIN_PX);

    useEffect(() => {
        if (conversationId === undefined) {
            return;
        }
        for (let id = start; id < end; id++) {
            const page = Math.floor(id / PAGE) * PAGE;
            // A page is asked for once while it is missing; one that was forgotten is asked for again.
            if (!state.messages.has(id) && asked.current.get(page) !== state.messages.size) {
                asked.current.set(page, state.messages.size);
                post({ type: "read", conversationId, start: page });
            }
        }
    });

    // Rows that turn out higher than guessed, above what is looked at, must not move it.
    useLayoutEffect(() => {
        const list = scroller.current;
        if (list === null) {
            return;
        }
        const measure = (rows: Iterable<Element>) => {
            let shift = 0;
            let hasChanged = false;
            const anchor = heights.current.indexAt(list.scrollTop);
            for (const row of rows) {
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
        const rows = list.querySelectorAll("[data-id]");
        const observer = new ResizeObserver((entries) => {
            measure(entries.map((entry) => entry.target).filter((row) => row.isConnected && row !== list));
        });
        observer.observe(list);
        rows.forEach((row) => {
            observer.observe(row);
        });
        if (follows.current) {
            list.scrollTop = list.scrollHeight;
        }
        return () => {
            observer.disconnect();
        };
    }, [start, end, state.messages, state.total, conversationId, state.live]);

    useLayoutEffect(() => {
        if (state.showMessage !== undefined && scroller.current !== null) {
            follows.current = false;
            scroller.current.scrollTop = heights.current.offset(state.showMessage);
            redraw(0);
        }
    }, [state.showMessage, conversationId]);

    const rows = [];
    for (let id = start; id < end; id++) {
        const message = state.messages.get(id);
        const isLive = message !== undefined && isShownLive(state, message);
        rows.push(
            <div key={id} data-id={id} class="row">
                {message === undefined ? <Skeleton id={id} /> : isLive ? null : <MessageRow message={message} total={state.total} isMarked={id === state.showMessage} />}
            </div>,
        );
    }
    const onScroll = () => {
        const list = scroller.current;
        if (list !== null) {
            const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOW_PX;
            follows.current = isAtEnd || (follows.current && performance.now() > gestureUntil.current);
            redraw(0);
        }
    };
    const gesture = () => {
        gestureUntil.current = performance.now() + GESTURE_MS;
    };
    return (
        <div class="messages" ref={scroller} onScroll={onScroll} onWheel={gesture} onPointerMove={(event) => { if (event.buttons !== 0) { gesture(); } }} onPointerDown={gesture} onTouchMove={gesture} onKeyDown={(event) => { gesture(); moveFocus(event, scroller.current); }} data-testid="messages">
            <div tabIndex={0} role="feed" aria-label="Conversation" aria-busy={state.live !== undefined}>
                <div style={{ height: `${heights.current.offset(start)}px` }} />
                {rows}
                <div style={{ height: `${Math.max(0, heights.current.total - heights.current.offset(end))}px` }} />
                {children}
            </div>
            {after}
        </div>
    );
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
