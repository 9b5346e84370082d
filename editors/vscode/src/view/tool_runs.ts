/** Runs of tool calls: what is the same many times over is one line that opens. */
import { TOOLS } from "../texts";
import type { ToolCall } from "./tool_line";
import { isKeptBack, lookOf } from "./tool_lines";

/** So many calls with the same verb are one line. */
const FEWEST_SAME = 3;
/** So many lines, whatever they say, are one once they have ended. */
const FEWEST_MIXED = 6;

export type Line = ToolCall | Run;

export interface Run {
    readonly calls: readonly Line[];
    readonly icon: string;
    readonly verb: string;
    readonly what: string;
    readonly nFailed: number;
    /** Of what was read; 0 for other tools. */
    readonly nLines: number;
}

export const isRun = (line: Line): line is Run => "calls" in line;

/** The calls in their order, with runs as one line each. A call that still runs stands alone. */
export function runsOf(calls: readonly ToolCall[]): Line[] {
    const lines: Line[] = [];
    for (let start = 0; start < calls.length; ) {
        const first = calls[start];
        let end = start + 1;
        while (end < calls.length && calls[end]?.isRunning !== true && first?.isRunning !== true && verbOf(calls[end]) === verbOf(first)) {
            end++;
        }
        const same = calls.slice(start, end);
        lines.push(...(first !== undefined && same.length >= FEWEST_SAME ? [runOf(same, lookOf(first.name).icon, lookOf(first.name).done, counted(first.name, same.length))] : same));
        start = end;
    }
    const hasEnded = calls.every((each) => each.isRunning !== true);
    return hasEnded && lines.length >= FEWEST_MIXED ? [runOf(lines, "tools", `${calls.length.toLocaleString("en")} ${TOOLS.tools}:`, kindsOf(calls))] : lines;
}

const verbOf = (call: ToolCall | undefined): string => (call === undefined ? "" : lookOf(call.name).done + (lookOf(call.name).done === TOOLS.used ? call.name : ""));

function runOf(calls: readonly Line[], icon: string, verb: string, what: string): Run {
    const nFailed = calls.reduce((sum, each) => sum + (isRun(each) ? each.nFailed : each.isError === true && !isKeptBack(each) ? 1 : 0), 0);
    const isReading = calls.every((each) => !isRun(each) && each.name === "read_file");
    const nLines = isReading ? calls.reduce((sum, each) => sum + (isRun(each) || each.isError === true || each.result === undefined ? 0 : each.result.split("\n").length), 0) : 0;
    return { calls, icon, verb, what, nFailed, nLines };
}

/** `4 files`, `3 times`. */
function counted(name: string, n: number): string {
    return `${n.toLocaleString("en")} ${name === "read_file" || name === "propose_edit" ? TOOLS.files : TOOLS.times}`;
}

/** `read, searched, changed`: what was done, the most frequent first. */
function kindsOf(calls: readonly ToolCall[]): string {
    const n = new Map<string, number>();
    for (const { name } of calls) {
        const verb = lookOf(name).done.toLowerCase();
        n.set(verb, (n.get(verb) ?? 0) + 1);
    }
    return [...n].sort((a, b) => b[1] - a[1]).map(([verb, times]) => (times === 1 ? verb : `${verb} ${times}`)).join(", ");
}
