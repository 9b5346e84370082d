/** The request as a map: a cell for each segment, in order, as wide as its tokens; then what is free, and what is kept for the answer. */
import { useRef } from "preact/hooks";

import type { ContextUsage, PrepareContextResult } from "../protocol.gen";
import { CONTEXT } from "../texts";
import { classOf, freeTokens, nameOfCell, rowsOf, titleOf, tokensOf, type Cell } from "./context_segments";
import { short } from "./figures";
import { nextInGroup } from "./roving";

interface Props {
    readonly cells: readonly Cell[];
    readonly plan: PrepareContextResult;
    readonly usage: ContextUsage;
    /** The number of the segment that the card is about. */
    readonly picked: number;
    readonly onPick: (index: number) => void;
    readonly onOpen: (index: number) => void;
}

export function ContextMap({ cells, plan, usage, picked, onPick, onOpen }: Props) {
    const map = useRef<HTMLDivElement>(null);
    const move = (event: KeyboardEvent) => {
        const items = [...(map.current?.querySelectorAll<HTMLElement>("button.seg") ?? [])];
        const next = nextInGroup(event, items, true);
        if (next !== undefined) {
            event.preventDefault();
            next.focus();
        } else if (event.key === "Enter") {
            event.preventDefault();
            onOpen(picked);
        }
    };
    const free = freeTokens(plan, usage);
    return (
        <>
            <div class="map" role="group" aria-label={CONTEXT.inOrderName} ref={map} onKeyDown={move}>
                {rowsOf(cells).map((row) => (
                    <div class="rank" key={row.cells[0]?.index}>
                        {row.cells.map((cell) => {
                            const [first] = cell.segments;
                            const isPicked = picked >= cell.index && picked < cell.index + cell.segments.length;
                            return first === undefined ? null : (
                                <button
                                    type="button"
                                    key={cell.index}
                                    class={`seg ${classOf(first)}${cell.isNew ? " new" : ""}${cell.isByModel ? " by-model" : ""}${isPicked ? " is-picked" : ""}`}
                                    style={{ "--w": String(cell.width) }}
                                    tabIndex={isPicked ? 0 : -1}
                                    aria-pressed={isPicked}
                                    aria-label={nameOfCell(cell)}
                                    title={cell.segments.length === 1 ? `${titleOf(first)}: ${tokensOf(first)}` : nameOfCell(cell)}
                                    onClick={() => onPick(cell.index)}
                                    onFocus={() => onPick(cell.index)}
                                    data-testid="segment"
                                />
                            );
                        })}
                        {row.spare > 0 && <span style={{ flexGrow: row.spare }} />}
                    </div>
                ))}
                {free > 0 && <div class="seg k-free wide"><span class="cap">{short(free)} {CONTEXT.free}</span></div>}
                <div class="seg k-reserve wide"><span class="cap">{short(usage.reserveTokens)} {CONTEXT.forAnswer}</span></div>
            </div>
            <p class="key" aria-hidden="true">
                <span><i class="seg k-messages" />{CONTEXT.you}</span>
                <span><i class="seg k-messages by-model" />{CONTEXT.answers}</span>
                <span><i class="seg k-messages new" />{CONTEXT.isNew}</span>
            </p>
        </>
    );
}
