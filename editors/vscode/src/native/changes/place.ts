/**
 * Code of an answer put into a file: the whole file, a definition in the place of the one of its name, or lines whose
 * place is found by those that did not change. What a block leaves out (`// ... existing code ...`) stays. In doubt
 * nothing is placed.
 */
import { decoratedFrom, definitions, endOf, isCloser, nameOf, type Definition } from "./definitions";
import { importEdits, isImport } from "./imports";
import { indentOf, isBlank, isChanged, isSame, isTelling, minIndent, stretches, styleOf, toLines, type Stretch } from "./lines";
import { FileLines, NoPlace, type Region } from "./locate";

/**
 * `nothing`: the block only leaves out. `noFile`: it leaves out, and there is no file to take that from. `same`: the file
 * reads like this already.
 */
export type Refusal = "nothing" | "noFile" | "notFound" | "ambiguous" | "same";

/** `removed`: the names of definitions that are not in the file any more. */
export type Placed = { readonly text: string; readonly removed: readonly string[] } | { readonly refused: Refusal };

/** Of a block that leaves nothing out, and of one that does: the share of its lines that have to be known. */
const LEAST_KNOWN = 0.25;
const LEAST_KNOWN_OF_PART = 0.1;

/** `file`: undefined where there is none yet. */
export function place(file: string | undefined, code: string): Placed {
    const before = file === undefined ? [] : toLines(file);
    const eol = file?.includes("\r\n") === true ? "\r\n" : "\n";
    const block = withoutBlankEdges(toLines(code));
    const parts = stretches(block, before);
    if (parts.every(({ lines }) => lines.every(isBlank))) {
        return { refused: "nothing" };
    }
    const isWhole = before.every(isBlank) || (parts.length === 1 && isComplete(before, block));
    if (isWhole && parts.length > 1) {
        return { refused: "noFile" };
    }
    try {
        const after = isWhole ? [...block, ...(before.length === 0 || isBlank(before.at(-1)) ? [""] : [])] : new Placing(before, block, parts).result();
        if (after.join("\n") === before.join("\n")) {
            return { refused: "same" };
        }
        const kept = new Set(definitions(after, 0, after.length).map((each) => each.name));
        const removed = new Set(definitions(before, 0, before.length).flatMap((each) => (kept.has(each.name) ? [] : [each.name])));
        return { text: after.join(eol), removed: [...removed] };
    } catch (error) {
        if (error instanceof NoPlace) {
            return { refused: error.because };
        }
        throw error;
    }
}

/** Whether a block that leaves nothing out is the file itself, changed: it keeps most of it, and does not begin or end later. */
function isComplete(file: readonly string[], block: readonly string[]): boolean {
    if (isAllDefinitions(block)) {
        return false;
    }
    const [theirs, ours] = [file, block].map((lines) => lines.filter(isTelling).map((each) => each.trim())) as [string[], string[]];
    const left = new Map<string, number>();
    for (const line of ours) {
        left.set(line, (left.get(line) ?? 0) + 1);
    }
    const kept = theirs.filter((line) => {
        const n = left.get(line) ?? 0;
        left.set(line, n - 1);
        return n > 0;
    });
    const known = new Set(theirs);
    const taken = new Set(ours);
    const before = (lines: string[], others: ReadonlySet<string>) => lines.findIndex((line) => others.has(line));
    const behind = (lines: string[], others: ReadonlySet<string>) => before(lines.toReversed(), others);
    return kept.length * 2 >= theirs.length && before(theirs, taken) <= before(ours, known) && behind(theirs, taken) <= behind(ours, known);
}

function isAllDefinitions(block: readonly string[]): boolean {
    return itemsOf(block, undefined).every((each) => each.name !== undefined);
}

/** A definition with what decorates it, or lines that are none. */
interface Item {
    readonly lines: readonly string[];
    /** Blank lines in front of it. */
    readonly gap: number;
    readonly name?: string;
    /** Where in `lines` the definition itself begins. */
    readonly header: number;
    /** Whether a part of it is left out. */
    readonly isOpen: boolean;
    /** Whether nothing follows it in its stretch. */
    readonly isLast: boolean;
}

function itemsOf(lines: readonly string[], leftOutAt: number | undefined): Item[] {
    const items: Item[] = [];
    const add = (start: number, end: number, rest: Omit<Item, "lines" | "gap">) => {
        let from = start;
        while (from < end && isBlank(lines[from])) {
            from += 1;
        }
        let to = end;
        while (to > from && isBlank(lines[to - 1])) {
            to -= 1;
        }
        if (from < to) {
            let gap = 0;
            while (from - gap > 0 && isBlank(lines[from - gap - 1])) {
                gap += 1;
            }
            items.push({ lines: lines.slice(from, to), gap, ...rest, header: rest.header - from });
        }
    };
    let loose = 0;
    for (let at = 0; at < lines.length; ) {
        const name = nameOf(lines, at);
        if (name === undefined) {
            at += 1;
            continue;
        }
        const end = endOf(lines, at);
        const start = decoratedFrom(lines, at, loose);
        add(loose, start, { header: loose, isOpen: false, isLast: false });
        const isLast = lines.slice(end).every(isBlank);
        const braces = lines.slice(at, end).join("\n");
        const isCut = end === at + 1 || leftOutAt === undefined ? end === at + 1 : leftOutAt > indentOf(lines[at] ?? "");
        const isOpen = leftOutAt !== undefined && isLast && (isCut || (braces.match(/\{/g) ?? []).length > (braces.match(/\}/g) ?? []).length);
        add(start, end, { name, header: at, isOpen, isLast });
        at = end;
        loose = end;
    }
    add(loose, lines.length, { header: loose, isOpen: false, isLast: true });
    return items;
}

interface Scope {
    /** Of the definition's first line in the block. */
    readonly indent: number;
    readonly start: number;
    /** Without the line that closes it. */
    readonly inner: number;
    readonly end: number;
}

interface Edit {
    readonly start: number;
    readonly end: number;
    readonly lines: readonly string[];
}

/** `isBegin`, `isEnd`: whether the lines stand at the begin or end of the file, or of what they are in, because nothing is left out there. */
interface Where {
    readonly lo: number;
    readonly hi: number;
    readonly isBegin: boolean;
    readonly isEnd: boolean;
    readonly leftOutAt: number | undefined;
}

class Placing {
    private readonly file: FileLines;
    private readonly known: readonly Definition[];
    private readonly edits: Edit[] = [];
    private readonly scopes: Scope[] = [];
    private cursor = 0;

    constructor(
        private readonly lines: readonly string[],
        block: readonly string[],
        private readonly parts: readonly Stretch[],
    ) {
        this.file = new FileLines(lines, styleOf(lines), styleOf(block));
        this.known = definitions(lines, 0, lines.length);
    }

    result(): string[] {
        this.parts.forEach((part, index) => {
            this.stretch(part, index === 0);
        });
        const after: string[] = [];
        let at = 0;
        // Insertions at one place stay in their order, in front of what is replaced from there on.
        for (const edit of this.edits.toSorted((a, b) => a.start - b.start || Number(a.end > a.start) - Number(b.end > b.start))) {
            if (edit.start < at) {
                throw new NoPlace("ambiguous");
            }
            after.push(...this.lines.slice(at, edit.start), ...edit.lines);
            at = edit.end;
        }
        return [...after, ...this.lines.slice(at)];
    }

    private get leavesOut(): boolean {
        return this.parts.length > 1;
    }

    private stretch({ lines, leftOutAt }: Stretch, isFirst: boolean): void {
        let from = 0;
        for (let scope = this.scopes.at(-1); scope !== undefined; scope = this.scopes.at(-1)) {
            const { indent, inner, end } = scope;
            const out = lines.findIndex((line, index) => index >= from && !isBlank(line) && indentOf(line) <= indent);
            if (out === -1) {
                break;
            }
            this.put(lines.slice(from, out), { lo: Math.max(this.cursor, scope.start), hi: inner, isBegin: false, isEnd: true, leftOutAt: undefined });
            from = isCloser(lines[out] ?? "") && indentOf(lines[out] ?? "") === indent ? out + 1 : out;
            this.scopes.pop();
            this.cursor = end;
        }
        const scope = this.scopes.at(-1);
        const lo = Math.max(this.cursor, scope?.start ?? 0);
        const hi = scope?.inner ?? this.lines.length;
        this.put(lines.slice(from), { lo, hi, isBegin: isFirst && this.leavesOut, isEnd: this.leavesOut && leftOutAt === undefined, leftOutAt });
    }

    /** Each item where it belongs; one that the file does not know stands beside its neighbor. */
    private put(lines: readonly string[], where: Where): void {
        let waiting: Item[] = [];
        let last: Region | undefined;
        for (const item of itemsOf(lines, where.leftOutAt)) {
            if (item.name === undefined && item.lines.every((each) => isBlank(each) || isImport(each)) && this.scopes.length === 0) {
                this.edits.push(...importEdits(item.lines.filter((each) => !isBlank(each)), this.lines));
                continue;
            }
            const region = this.find(item, where);
            if (region !== undefined) {
                this.insert(waiting, region.start, region, item.gap);
                waiting = [];
                last = region;
                this.cursor = Math.max(this.cursor, region.end);
            } else if (last !== undefined) {
                this.insert([item], last.end, last);
            } else {
                waiting.push(item);
            }
        }
        if (waiting.length > 0) {
            this.putAtEdge(waiting, where);
        }
    }

    private putAtEdge(items: readonly Item[], { lo, hi, isBegin, isEnd }: Where): void {
        const block = items.flatMap((each, index) => [...blanks(index === 0 ? 0 : each.gap), ...each.lines]);
        const shift = { from: minIndent(block), to: minIndent(this.lines.slice(lo, hi)) };
        let end = hi;
        while (end > lo && isBlank(this.lines[end - 1])) {
            end -= 1;
        }
        if (isEnd) {
            const isLast = items.at(-1)?.name === undefined && end > lo && isTelling(block.at(-1) ?? "") && (isSame(block.at(-1), this.lines[end - 1]) || isChanged(block.at(-1), this.lines[end - 1]));
            const grown = isLast ? this.file.grow(block, block.length - 1, block.length, end - 1, end, lo, hi) : { start: end, end };
            const gap = grown.start === grown.end && items[0]?.name !== undefined ? Math.max(1, items[0].gap) : 0;
            this.edits.push({ ...grown, lines: [...blanks(gap), ...this.file.merged(block, { ...grown, ...shift })] });
        } else if (isBegin) {
            this.edits.push({ start: lo, end: lo, lines: this.file.merged(block, { start: lo, end: lo, ...shift }) });
        } else {
            throw new NoPlace("notFound");
        }
    }

    /** `before`: blank lines behind the last one, which stands in front of what is known. */
    private insert(items: readonly Item[], at: number, { from, to }: Region, before?: number): void {
        for (const [index, { lines, gap }] of items.entries()) {
            const text = this.file.merged(lines, { start: at, end: at, from, to });
            const behind = before === undefined ? 0 : (items[index + 1]?.gap ?? before);
            this.edits.push({ start: at, end: at, lines: [...blanks(before === undefined ? gap : 0), ...text, ...blanks(behind)] });
        }
    }

    private find(item: Item, where: Where): Region | undefined {
        if (item.name === undefined) {
            const region = this.file.locate(item.lines, where.lo, where.hi, this.leavesOut ? LEAST_KNOWN_OF_PART : LEAST_KNOWN, where.leftOutAt);
            if (region !== undefined) {
                this.edits.push({ ...region, lines: this.file.merged(item.lines, region) });
            }
            return region;
        }
        // Functions need not stand in the order of the file.
        const found = this.definition(item, this.scopes.at(-1)?.start ?? 0, where.hi);
        if (found === undefined) {
            if (item.isOpen) {
                throw new NoPlace("notFound");
            }
            return undefined;
        }
        const header = item.lines[item.header] ?? "";
        const start = item.header === 0 ? found.start : decoratedFrom(this.lines, found.start, 0);
        const region = { start, end: found.end, from: indentOf(header), to: indentOf(this.lines[found.start] ?? "") };
        // A block that ends before the brace does leaves out the rest without a word.
        const isCut = item.isLast && item.lines.length > item.header + 1 && isClosed(this.lines, found.start, found.end) && !isClosed(item.lines, item.header, item.lines.length);
        if (!item.isOpen && !isCut) {
            this.edits.push({ ...region, lines: this.file.merged(item.lines, region) });
            return region;
        }
        const head = { ...region, end: found.start + 1 };
        this.edits.push({ ...head, lines: this.file.merged(item.lines.slice(0, item.header + 1), head) });
        this.enter(item, found, where.leftOutAt);
        return { ...region, end: this.cursor };
    }

    /** What follows the first line of a definition of which a part is left out. */
    private enter(item: Item, { start, end }: Definition, leftOutAt: number | undefined): void {
        const inner = isClosed(this.lines, start, end) ? end - 1 : end;
        const scope = { indent: indentOf(item.lines[item.header] ?? ""), start: start + 1, inner, end };
        this.scopes.push(scope);
        let rest = item.lines.slice(item.header + 1);
        let lo = scope.start;
        while (rest.length > 0 && lo < scope.inner && isSame(rest[0], this.lines[lo])) {
            rest = rest.slice(1);
            lo += 1;
        }
        this.cursor = lo;
        this.put(rest, { lo, hi: scope.inner, isBegin: true, isEnd: false, leftOutAt });
    }

    /** The definition of this name. Of several the one that begins the same, or that shares the most with it. */
    private definition({ name, lines, header }: Item, lo: number, hi: number): Definition | undefined {
        const all = this.known.filter((each) => each.name === name && each.start >= lo && each.end <= Math.max(hi, lo));
        const same = all.filter((each) => isSame(this.lines[each.start], lines[header]));
        const found = same.length > 0 ? same : all;
        if (found.length <= 1) {
            return found[0];
        }
        const ours = new Set(lines.filter(isTelling).map((each) => each.trim()));
        const scored = found.map((each) => ({ each, score: this.lines.slice(each.start, each.end).filter((line) => ours.has(line.trim())).length }));
        const [best, second] = scored.sort((a, b) => b.score - a.score);
        if (best === undefined || second === undefined || best.score <= second.score) {
            throw new NoPlace("ambiguous");
        }
        return best.each;
    }
}

/** Whether the last line closes what the first one begins. */
function isClosed(lines: readonly string[], start: number, end: number): boolean {
    const last = lines[end - 1] ?? "";
    return end - 1 > start && isCloser(last) && indentOf(last) === indentOf(lines[start] ?? "");
}

function blanks(n: number): string[] {
    return Array.from({ length: n }, () => "");
}

function withoutBlankEdges(lines: readonly string[]): string[] {
    const first = lines.findIndex((each) => !isBlank(each));
    const last = lines.findLastIndex((each) => !isBlank(each));
    return first === -1 ? [] : lines.slice(first, last + 1).map((each) => each.replace(/\s+$/, ""));
}
