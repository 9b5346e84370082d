/** Imports of a block that says nothing about their place: they go to those of the file. */

const IMPORT = /^(?:import\s+\S.*|from\s+\S+\s+import\s+[^(]*|#include\b.*|using\s+[\w.]+;|use\s+[\w:\\]+.*;|(?:const|let|var)\s+[\w${},\s]+=\s*require\(.*\);?|require(?:_relative)?\s.*)$/;

/** An import on a line of its own. */
export function isImport(line: string): boolean {
    return IMPORT.test(line) && !/[{(]\s*$/.test(line);
}

/** What is not there yet, behind the last import; one that only brings more names takes the place of the other. */
export function importEdits(wanted: readonly string[], file: readonly string[]): Array<{ start: number; end: number; lines: string[] }> {
    const known = file.flatMap((line, at) => (isImport(line) ? [{ line: line.trim(), at }] : []));
    const last = known.at(-1)?.at;
    const fresh: string[] = [];
    const edits: Array<{ start: number; end: number; lines: string[] }> = [];
    for (const line of wanted.map((each) => each.trim())) {
        if (known.some((each) => each.line === line)) {
            continue;
        }
        const smaller = known.filter((each) => moduleOf(each.line) === moduleOf(line) && namesIn(each.line).every((name) => namesIn(line).includes(name)));
        const [only] = smaller;
        if (only !== undefined && smaller.length === 1 && moduleOf(line) !== undefined) {
            edits.push({ start: only.at, end: only.at + 1, lines: [line] });
        } else {
            fresh.push(line);
        }
    }
    const at = last === undefined ? (file[0]?.startsWith("#!") === true ? 1 : 0) : last + 1;
    const isBefore = last === undefined && file[at]?.trim() !== "";
    return fresh.length === 0 ? edits : [...edits, { start: at, end: at, lines: [...fresh, ...(isBefore ? [""] : [])] }];
}

function moduleOf(line: string): string | undefined {
    return /^from\s+(\S+)\s+import/.exec(line)?.[1] ?? /\bfrom\s+["']([^"']+)["']/.exec(line)?.[1] ?? /require\(["']([^"']+)["']\)/.exec(line)?.[1];
}

function namesIn(line: string): string[] {
    return line.match(/[\w$]+/g) ?? [];
}
