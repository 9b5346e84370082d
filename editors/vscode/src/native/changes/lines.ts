/** Lines of code: what two of them share, how they are indented, and what stands for code that was left out. */

/** Columns of a tab, where one is compared with spaces. */
const TAB = 4;
const COMMENT = String.raw`(?:\/\/+|#+|--+|;+|%+|\/\*+|<!--|\{\/\*|\*+)`;
const DOTS = String.raw`(?:\.{3,}|…)`;
/** `// ... existing code ...`, `# …`, `/* ... *\/`. */
const COMMENTED_DOTS = new RegExp(`^${COMMENT}\\s*\\[?${DOTS}`);
/** `...` alone, or with a word about it; `...rest,` is code. */
const BARE_DOTS = new RegExp(`^${DOTS}(?:\\s*\\(?[\\w\\s]*\\b(?:existing|rest|remaining|unchanged|omitted|same|code)\\b[^;{}]*)?$`);
/** `// rest of the code stays the same`. */
const WORDS = new RegExp(`^${COMMENT}\\s*[\\[(]?(?:the\\s+)?(?:rest of|existing|remaining|unchanged|other|previous|keep|same as)\\b.*\\b(?:code|functions?|methods?|imports?|file|class|unchanged|same|before|remains?|existing|here)\\b`, "i");
/** `def a(): ...` and `a() { /* ... *\/ }`: the body is left out on the line itself. */
const HOLLOW = new RegExp(`(?:\\{\\s*(?:\\/\\*+|\\/\\/)?\\s*${DOTS}[^{}]*\\}|:\\s*${DOTS}\\s*(?:#.*)?);?$`);

export function toLines(text: string): string[] {
    return text.split(/\r\n|\r|\n/);
}

export function isBlank(line: string | undefined): boolean {
    return line === undefined || line.trim() === "";
}

/** Whether a line can tell a place from another one: a brace or `else:` cannot. */
export function isTelling(line: string): boolean {
    return line.replace(/[^\p{L}\p{N}_]/gu, "").length >= 3 && !/^\W*(?:else|end|try|finally|break|continue|pass|return|fi|done|then|begin)\W*$/.test(line);
}

export function isSame(a: string | undefined, b: string | undefined): boolean {
    return a !== undefined && b !== undefined && a.trim() === b.trim();
}

/** Whether one line is the other one changed: the same name is set, or the same is returned in another way. */
export function isChanged(a: string | undefined, b: string | undefined): boolean {
    if (a === undefined || b === undefined || isBlank(a) || isBlank(b)) {
        return false;
    }
    const key = keyOf(a);
    return key === undefined ? keyOf(b) === undefined && !/^\W*(?:import|from|use|using|#include|case)\b/.test(a.trim()) && likeness(a, b) >= 0.85 : key === keyOf(b);
}

/** What is set, or how the line leaves; undefined for other lines. */
export function keyOf(line: string): string | undefined {
    const text = line.trim();
    return /^(?:return|throw|raise|yield)\b/.exec(text)?.[0] ?? /^((?:[\w$.\-[\]]|\s|"[^"]*"|'[^']*')+?)\s*(?:[-+*/|&%^?:]{0,2}=(?![=>])|:(?!:)(?=\s|$))/.exec(text)?.[1]?.trim();
}

/** How alike two lines are, from 0 to 1: the share of common pairs of characters (Dice). */
export function likeness(a: string, b: string): number {
    const left = pairs(a);
    const right = pairs(b);
    let common = 0;
    for (const [pair, n] of left) {
        common += Math.min(n, right.get(pair) ?? 0);
    }
    const all = Math.max(1, a.trim().length - 1) + Math.max(1, b.trim().length - 1);
    return (2 * common) / all;
}

function pairs(line: string): Map<string, number> {
    const text = line.trim();
    const found = new Map<string, number>();
    for (let i = 0; i + 1 < text.length; i++) {
        const pair = text.slice(i, i + 2);
        found.set(pair, (found.get(pair) ?? 0) + 1);
    }
    return found;
}

export function indentOf(line: string): number {
    let columns = 0;
    for (const character of line) {
        if (character === "\t") {
            columns += TAB - (columns % TAB);
        } else if (character === " ") {
            columns += 1;
        } else {
            break;
        }
    }
    return columns;
}

export function minIndent(lines: readonly string[]): number {
    return Math.min(...lines.filter((each) => !isBlank(each)).map(indentOf), 1_000);
}

/** How a text is indented. `unit`: the columns of a step; undefined where no line shows it. */
export interface Style {
    readonly hasTabs: boolean;
    readonly unit: number | undefined;
}

export function styleOf(lines: readonly string[]): Style {
    const indented = lines.filter((each) => /^[ \t]+\S/.test(each));
    const tabbed = indented.filter((each) => each.startsWith("\t")).length;
    if (tabbed * 2 > indented.length) {
        return { hasTabs: true, unit: TAB };
    }
    const steps = new Map<number, number>();
    let before = 0;
    for (const line of lines.filter((each) => !isBlank(each))) {
        const step = indentOf(line) - before;
        before += step;
        if (step > 1) {
            steps.set(step, (steps.get(step) ?? 0) + 1);
        }
    }
    const [most] = [...steps].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return { hasTabs: false, unit: most?.[0] };
}

/** A line of a block as it stands in the file. `from`, `to`: the columns of one and the same line in both. */
export function reindent(line: string, from: number, to: number, block: Style, file: Style): string {
    if (isBlank(line)) {
        return "";
    }
    if (from === to && block.hasTabs === file.hasTabs && (block.unit === file.unit || block.unit === undefined || file.unit === undefined)) {
        return line.trimEnd();
    }
    const unit = block.unit ?? file.unit ?? TAB;
    const relative = indentOf(line) - from;
    const steps = Math.trunc(relative / unit);
    const columns = Math.max(0, to + steps * (file.unit ?? unit) + (relative - steps * unit));
    return (file.hasTabs ? "\t".repeat(Math.trunc(columns / TAB)) + " ".repeat(columns % TAB) : " ".repeat(columns)) + line.trim();
}

/** A stretch of a block between what it leaves out. */
export interface Stretch {
    readonly lines: readonly string[];
    /** The indentation of what is left out behind it; undefined at the end of the block. */
    readonly leftOutAt: number | undefined;
}

/** The stretches of a block, the first of which may be empty. A line that stands in the file like this is code. */
export function stretches(block: readonly string[], file: readonly string[]): Stretch[] {
    const known = new Set<string>();
    let before = "";
    for (const line of file.filter((each) => !isBlank(each))) {
        known.add(`${before}\n${line.trim()}`);
        before = line.trim();
    }
    const whole = new Set(file.map((each) => each.trim()));
    const found: Stretch[] = [];
    let lines: string[] = [];
    before = "";
    for (const line of block) {
        const text = line.trim();
        const isBody = text === "..." && before.endsWith(":") && whole.has(text);
        const isLeftOut = (COMMENTED_DOTS.test(text) || BARE_DOTS.test(text) || WORDS.test(text)) && !isBody && !known.has(`${before}\n${text}`);
        if (isLeftOut || (HOLLOW.test(text) && !whole.has(text))) {
            found.push({ lines, leftOutAt: indentOf(line) });
            lines = [];
        } else {
            lines.push(line);
        }
        before = text === "" ? before : text;
    }
    return [...found, { lines, leftOutAt: undefined }];
}
