/** The effect of a tool's call that waits for an answer: a diff with its lines, or what would be run. */
import { useState } from "preact/hooks";

import { CODE } from "../texts";
import { differing } from "./fact_groups";

/** `number`: of the line, in the new file or, when it goes, in the old one. */
interface Line {
    readonly kind: "same" | "add" | "del" | "gap";
    readonly number: number;
    readonly text: string;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** The lines of a unified diff; undefined for anything else. */
export function linesOf(shown: string): Line[] | undefined {
    const all = shown.split("\n");
    if (!all.some((each) => HUNK.test(each))) {
        return undefined;
    }
    const lines: Line[] = [];
    let before = 0;
    let now = 0;
    let isInside = false;
    for (const each of all) {
        const hunk = HUNK.exec(each);
        if (hunk !== null) {
            const start = Number(hunk[2]);
            if (isInside && start > now) {
                lines.push({ kind: "gap", number: 0, text: CODE.unchanged(start - now) });
            }
            [before, now, isInside] = [Number(hunk[1]), start, true];
        } else if (isInside && each.startsWith("+")) {
            lines.push({ kind: "add", number: now++, text: each.slice(1) });
        } else if (isInside && each.startsWith("-")) {
            lines.push({ kind: "del", number: before++, text: each.slice(1) });
        } else if (isInside && (each.startsWith(" ") || each === "")) {
            if (each !== "") {
                lines.push({ kind: "same", number: now, text: each.slice(1) });
                before++;
                now++;
            }
        } else if (isInside) {
            lines.push({ kind: "gap", number: 0, text: each });
        }
    }
    return lines;
}

/** So many lines are shown at first, and so many more each time: a panel with all lines of a large edit could not be used. */
const FIRST_LINES = 500;
const MORE_LINES = 1_000;
/** In a longer block of lines that go or come nothing is paired. */
const MOST_PAIRED = 200;

const SIGNS = { same: " ", add: "+", del: "−" } as const;

/** What a line has that its counterpart has not, before, in and behind it; lines that go and come are paired in their order. */
function piecesOf(lines: readonly Line[], index: number): readonly [string, string, string] {
    const line = lines[index];
    const whole = [line?.text ?? "", "", ""] as const;
    if (line?.kind !== "del" && line?.kind !== "add") {
        return whole;
    }
    let start = index;
    while (lines[start - 1]?.kind === line.kind) {
        start--;
        if (index - start > MOST_PAIRED) {
            return whole;
        }
    }
    let first = start;
    if (line.kind === "add") {
        while (lines[first - 1]?.kind === "del" && start - first <= MOST_PAIRED) {
            first--;
        }
    } else {
        while (lines[first]?.kind === "del" && first - start <= MOST_PAIRED) {
            first++;
        }
    }
    if (Math.abs(first - start) > MOST_PAIRED) {
        return whole;
    }
    const other = lines[first + index - start];
    if (other === undefined || other.kind === line.kind || (other.kind !== "del" && other.kind !== "add")) {
        return whole;
    }
    const { was, now } = line.kind === "del" ? differing(line.text, other.text) : differing(other.text, line.text);
    const pieces = line.kind === "del" ? was : now;
    return pieces[0].trim() === "" && pieces[2].trim() === "" ? whole : pieces;
}

export function Diff({ lines, name }: { readonly lines: readonly Line[]; readonly name: string }) {
    const [limit, setLimit] = useState(FIRST_LINES);
    return (
        <div class="diff" tabIndex={0} role="region" aria-label={name}>
            <div class="rows">
                {lines.slice(0, limit).map((line, index) => (line.kind === "gap" ? <div key={index} class="gap">{line.text}</div> : (
                    <div key={index} class={`r ${line.kind === "same" ? "" : line.kind}`}><span>{line.number}</span><span>{SIGNS[line.kind]}</span><code><Marked pieces={piecesOf(lines, index)} /></code></div>
                )))}
            </div>
            {lines.length > limit && <button type="button" class="text-btn more-lines" onClick={() => setLimit(limit + MORE_LINES)}>{CODE.moreLines((lines.length - limit).toLocaleString("en"))}</button>}
        </div>
    );
}

function Marked({ pieces: [before, differs, after] }: { readonly pieces: readonly [string, string, string] }) {
    return <>{before}{differs !== "" && <mark>{differs}</mark>}{after}</>;
}
