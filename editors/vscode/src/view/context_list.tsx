/** The same as rows; of however many there are, those in sight are elements. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { ContextSegment } from "../protocol.gen";
import { CONTEXT, SAID } from "../texts";
import { classOf, labelOf, tokensOf } from "./context_segments";
import { short } from "./figures";
import { visible } from "./visible";

const ROW_PX = 24;
const MARGIN = 20;
/** Up to here all rows are there. */
const FEW = 150;

interface Props {
    readonly segments: readonly ContextSegment[];
    readonly picked: number;
    readonly onPick: (index: number) => void;
    readonly onOpen: (index: number) => void;
}

export function ContextList({ segments, picked, onPick, onOpen }: Props) {
    const list = useRef<HTMLOListElement>(null);
    const [window, setWindow] = useState({ start: 0, end: Math.min(segments.length, FEW) });
    const wanted = useRef<number | undefined>(undefined);
    const isLong = segments.length > FEW;
    const largest = Math.max(1, ...segments.map((each) => each.tokens));

    useEffect(() => {
        const scroller = list.current?.closest<HTMLElement>(".page");
        if (!isLong || scroller === null || scroller === undefined) {
            setWindow({ start: 0, end: segments.length });
            return undefined;
        }
        const look = () => {
            const top = scroller.getBoundingClientRect().top - (list.current?.getBoundingClientRect().top ?? 0);
            const start = Math.max(0, Math.floor(top / ROW_PX) - MARGIN);
            setWindow({ start, end: Math.min(segments.length, Math.ceil((top + scroller.clientHeight) / ROW_PX) + MARGIN) });
        };
        look();
        scroller.addEventListener("scroll", look, { passive: true });
        return () => scroller.removeEventListener("scroll", look);
    }, [segments, isLong]);

    useLayoutEffect(() => {
        if (wanted.current !== undefined) {
            const row = list.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"] button`);
            row?.focus();
            if (row !== null && row !== undefined) {
                wanted.current = undefined;
            }
        }
    });
    const move = (event: KeyboardEvent) => {
        const steps: Readonly<Record<string, number>> = { ArrowDown: picked + 1, ArrowUp: picked - 1, Home: 0, End: segments.length - 1, PageDown: picked + 10, PageUp: picked - 10 };
        const step = steps[event.key];
        if (step === undefined) {
            if (event.key === "Enter") {
                event.preventDefault();
                onOpen(picked);
            }
            return;
        }
        event.preventDefault();
        const next = Math.max(0, Math.min(segments.length - 1, step));
        wanted.current = next;
        setWindow((now) => (now.start <= next && next < now.end ? now : { start: Math.max(0, next - MARGIN), end: Math.min(segments.length, next + MARGIN) }));
        onPick(next);
    };
    const { start } = window;
    const end = Math.min(window.end, segments.length);
    return (
        <ol class="plain ledger" aria-label={CONTEXT.inOrderName} ref={list} onKeyDown={move} style={{ paddingTop: `${start * ROW_PX}px`, paddingBottom: `${(segments.length - end) * ROW_PX}px` }}>
            {segments.slice(start, end).map((segment, offset) => {
                const index = start + offset;
                const isPicked = index === picked;
                return (
                    <li key={index} data-index={index} data-testid="segment" aria-posinset={index + 1} aria-setsize={segments.length} class={isPicked ? "is-picked" : ""}>
                        <button type="button" class="row-button" tabIndex={isPicked ? 0 : -1} aria-pressed={isPicked} title={tokensOf(segment)} onClick={() => onPick(index)}>
                            <span class={`swatch fill ${classOf(segment)}`} aria-hidden="true" />
                            <span class="ellipsis">{visible(labelOf(segment))}</span>
                            <span class={`len ${classOf(segment)}`} aria-hidden="true"><span style={{ "--w": `${(100 * segment.tokens) / largest}%` }} /></span>
                            <span class="num">{short(segment.tokens)}<span class="sr"> {SAID.tokens}, {segment.isInPrefix ? CONTEXT.sentBefore : CONTEXT.isNew}</span></span>
                        </button>
                    </li>
                );
            })}
        </ol>
    );
}
