/** The effect of a tool's call that waits for an answer: a diff with its lines, or what would be run. */

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
                lines.push({ kind: "gap", number: 0, text: `${start - now} unchanged ${start - now === 1 ? "line" : "lines"}` });
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

const SIGNS = { same: " ", add: "+", del: "−" } as const;

export function Diff({ lines, name }: { readonly lines: readonly Line[]; readonly name: string }) {
    return (
        <div class="diff" tabIndex={0} role="region" aria-label={name}>
            <div class="rows">
                {lines.map((line, index) => (line.kind === "gap" ? <div key={index} class="gap">{line.text}</div> : (
                    <div key={index} class={`r ${line.kind === "same" ? "" : line.kind}`}><span>{line.number}</span><span>{SIGNS[line.kind]}</span><code>{line.text}</code></div>
                )))}
            </div>
        </div>
    );
}
