/** The segments of a request as cells of a map and rows of a list: how each is called, and why it is there. */
import type { ContextSegment, ContextUsage, MessageRange, PrepareContextResult } from "../protocol.gen";
import { CONTEXT, PARTS } from "../texts";
import { counted } from "./figures";

/** By the type of a segment: the class of its color. */
const CLASSES: Readonly<Record<string, string>> = {
    system: "k-system",
    tools: "k-tools",
    pins: "k-rules",
    summary: "k-summaries",
    message: "k-messages",
    preview: "k-previews",
    injection: "k-recalled",
    overhead: "k-overhead",
};

export function classOf(segment: ContextSegment): string {
    return CLASSES[segment.type] ?? "k-overhead";
}

const TOOL_RESULT = /^(\S+) (?:answered|failed): (.*)$/su;

/** One line of the list. */
export function labelOf(segment: ContextSegment): string {
    const said = segment.excerpt ?? "";
    switch (segment.type) {
        case "system":
            return CONTEXT.instructions;
        case "tools":
            return segment.itemCount === undefined ? CONTEXT.tools : counted(segment.itemCount, "tool");
        case "pins":
            return segment.itemCount === undefined ? CONTEXT.rules : PARTS.rulesOfYours(counted(segment.itemCount, "rule"));
        case "summary":
            return segment.messages === undefined ? CONTEXT.summary : PARTS.summaryOf(rangeOf(segment.messages));
        case "injection":
            return PARTS.recalled(said);
        case "overhead":
            return CONTEXT.overhead;
    }
    const tool = segment.role === "tool" ? TOOL_RESULT.exec(said) : null;
    if (tool !== null) {
        return shortenedOr(segment, PARTS.resultOf(tool[1] ?? ""));
    }
    const who = segment.role === "user" ? PARTS.you : segment.role === "tool" ? PARTS.tool : PARTS.answer;
    return said === "" ? `${who}, ${rangeOf(segment.messages)}` : `${who}: ${said}`;
}

const shortenedOr = (segment: ContextSegment, name: string): string => (segment.type === "preview" ? `${name}, ${PARTS.shortened}` : name);

/** The title of the card about it. */
export function titleOf(segment: ContextSegment): string {
    if (segment.messages === undefined || segment.type === "summary") {
        return labelOf(segment);
    }
    if (segment.type === "injection") {
        return PARTS.recalledFor(segment.messages.start);
    }
    const id = segment.messages.start;
    const name = (segment.role === "user" ? PARTS.yourMessage : segment.role === "tool" ? PARTS.toolResult : PARTS.answerMessage)(id);
    return shortenedOr(segment, name);
}

/** Why the segment is in the request in this form. */
export function reasonOf(segment: ContextSegment): string {
    switch (segment.type) {
        case "system":
        case "tools":
            return CONTEXT.alwaysFirst;
        case "pins":
            return CONTEXT.yourRules;
        case "summary": {
            const { start, end } = segment.messages ?? { start: 0, end: 0 };
            return PARTS.standsFor(counted(end - start, PARTS.olderMessage));
        }
        case "message":
            return CONTEXT.wordForWord;
        case "preview":
            return CONTEXT.shortened;
        case "injection":
            return CONTEXT.recalled;
        case "overhead":
            return CONTEXT.addedByService;
        default:
            return segment.reason;
    }
}

/** `412 tokens`; with "about" or "roughly" where they are estimated. */
export function tokensOf(segment: ContextSegment): string {
    return `${CONTEXT.about[segment.certainty]} ${counted(segment.tokens, "token")}`.trimStart();
}

export function rangeOf(range: MessageRange | undefined): string {
    if (range === undefined) {
        return "";
    }
    return range.end - range.start === 1 ? PARTS.message(range.start) : PARTS.messages(range.start, range.end - 1);
}

/** A cell of the map: one segment, or neighbors of one kind where there are very many. */
export interface Cell {
    /** Of its first segment. */
    readonly index: number;
    readonly segments: readonly ContextSegment[];
    readonly tokens: number;
    readonly isNew: boolean;
    readonly isByModel: boolean;
    /** The width in percent of a row. */
    readonly width: number;
}

export const MOST_CELLS = 400;

export function cellsOf(segments: readonly ContextSegment[]): Cell[] {
    const perCell = Math.ceil(segments.length / MOST_CELLS);
    const groups: { index: number; segments: ContextSegment[] }[] = [];
    segments.forEach((segment, index) => {
        const last = groups.at(-1);
        const before = last?.segments.at(-1);
        const isSame = before !== undefined && before.type === "message" && segment.type === "message" && before.isInPrefix === segment.isInPrefix;
        if (last !== undefined && isSame && last.segments.length < perCell) {
            last.segments.push(segment);
        } else {
            groups.push({ index, segments: [segment] });
        }
    });
    const total = segments.reduce((sum, each) => sum + each.tokens, 0);
    const rows = Math.max(1, Math.min(12, Math.round(0.8 * Math.sqrt(groups.length))));
    return groups.map(({ index, segments: members }) => {
        const tokens = members.reduce((sum, each) => sum + each.tokens, 0);
        return {
            index,
            segments: members,
            tokens,
            isNew: members.some((each) => !each.isInPrefix),
            isByModel: members.every((each) => each.role === "assistant" || each.role === "tool"),
            width: Math.min(100, total === 0 ? 100 : (100 * tokens * rows) / total),
        };
    });
}

/** What a request may still take: less than what is left of the window, where counts are estimates. */
export const freeTokens = (plan: PrepareContextResult, usage: ContextUsage): number => Math.max(0, usage.budgetTokens - plan.usedTokens);

/** A row of the map; `spare`: how much of it stays empty, in percent. */
export interface CellRow {
    readonly cells: readonly Cell[];
    readonly spare: number;
}

/** A row that lacks no more than so many percent is stretched to its end. */
const MOST_STRETCHED = 25;

/** The cells in rows that are each about full, so that cells of different rows can be compared. */
export function rowsOf(cells: readonly Cell[]): CellRow[] {
    const rows: Cell[][] = [];
    let width = 0;
    for (const cell of cells) {
        const row = rows.at(-1);
        if (row === undefined || Math.abs(width + cell.width - 100) > Math.abs(width - 100)) {
            rows.push([cell]);
            width = cell.width;
        } else {
            row.push(cell);
            width += cell.width;
        }
    }
    return rows.map((row) => {
        const left = 100 - row.reduce((sum, each) => sum + each.width, 0);
        return { cells: row, spare: left > MOST_STRETCHED ? left : 0 };
    });
}

/** How a cell is read out. */
export function nameOfCell(cell: Cell): string {
    const [first] = cell.segments;
    const last = cell.segments.at(-1);
    if (first === undefined || last === undefined) {
        return "";
    }
    const state = cell.isNew ? CONTEXT.isNew : CONTEXT.sentBefore;
    if (cell.segments.length === 1) {
        return `${titleOf(first)}, ${tokensOf(first)}, ${state}`;
    }
    const range = { start: first.messages?.start ?? 0, end: last.messages?.end ?? 0 };
    return `${rangeOf(range)}, ${counted(cell.tokens, "token")}, ${state}`;
}
