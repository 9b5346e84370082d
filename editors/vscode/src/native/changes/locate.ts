/** The place of some lines in a file: by the lines that did not change, else by the one line that they change. */
import { diffArrays } from "diff";

import { endOf, isCloser } from "./definitions";
import { indentOf, isBlank, isChanged, isSame, isTelling, keyOf, likeness, reindent, type Style } from "./lines";

/** Why a place was not taken. */
export class NoPlace extends Error {
    constructor(readonly because: "notFound" | "ambiguous") {
        super(because);
    }
}

/** Lines of the file from `start` to before `end`. A line at column `from` of the block stands at column `to` there. */
export interface Region {
    readonly start: number;
    readonly end: number;
    readonly from: number;
    readonly to: number;
}

/** So many places of a line are looked at, of so many lines. */
const MOST_PLACES = 60;
const MOST_KEYS = 6;
/** A line counts by its length, up to this. */
const MOST_WEIGHT = 30;
/** Changes that are too many to be worth a comparison line by line. */
const MOST_EDITS = 2_000;
/** Where two places are as likely as this, neither is taken. */
const TOO_CLOSE = 0.9;
const MOST_FUZZY_LINES = 6;
const ALIKE = 0.75;

export class FileLines {
    private readonly places = new Map<string, number[]>();

    constructor(
        readonly lines: readonly string[],
        readonly style: Style,
        readonly blockStyle: Style,
    ) {
        for (const [at, line] of lines.entries()) {
            if (isTelling(line)) {
                const text = line.trim();
                const known = this.places.get(text);
                if (known === undefined) {
                    this.places.set(text, [at]);
                } else {
                    known.push(at);
                }
            }
        }
    }

    /**
     * `least`: the share of the telling lines that have to stand there unchanged. `leftOutAt`: the indentation of what is
     * left out behind the lines. Undefined where they are not known.
     */
    locate(block: readonly string[], lo: number, hi: number, least: number, leftOutAt: number | undefined): Region | undefined {
        const keys = block
            .flatMap((line, index) => (isTelling(line) ? [{ index, at: (this.places.get(line.trim()) ?? []).filter((each) => each >= lo && each < hi) }] : []))
            .filter(({ at }) => at.length > 0 && at.length <= MOST_PLACES)
            .sort((a, b) => a.at.length - b.at.length)
            .slice(0, MOST_KEYS);
        if (keys.length === 0) {
            return this.changedLine(block, lo, hi);
        }
        const all = block.reduce((sum, line) => sum + weight(line), 0);
        const found = new Map<number, Region & { readonly score: number }>();
        for (const { index, at } of keys) {
            for (const place of at) {
                const region = this.align(block, index, place, lo, hi, leftOutAt);
                const known = found.get(region.start);
                if (known === undefined || known.score < region.score) {
                    found.set(region.start, region);
                }
            }
        }
        const [best, ...others] = [...found.values()].sort((a, b) => b.score - a.score);
        if (best === undefined || best.score < all * least) {
            return undefined;
        }
        const rival = others.find((each) => each.end <= best.start || each.start >= best.end);
        if (rival !== undefined && (rival.score === best.score || (best.score < all && rival.score >= best.score * TOO_CLOSE))) {
            throw new NoPlace("ambiguous");
        }
        return best;
    }

    /** The lines of the block that take the place of a region. What they share keeps the file's own blanks. */
    merged(block: readonly string[], { start, end, from, to }: Region): string[] {
        const old = this.lines.slice(start, end);
        const fresh = block.map((line) => reindent(line, from, to, this.blockStyle, this.style));
        const changes = diffArrays(old, fresh, { comparator: (a, b) => isSame(a, b), maxEditLength: MOST_EDITS });
        if (changes === undefined) {
            return fresh;
        }
        let before = 0;
        let now = 0;
        return changes.flatMap(({ added, removed, count }) => {
            const kept = old.slice(before, before + count);
            const taken = fresh.slice(now, now + count);
            before += added ? 0 : count;
            now += removed ? 0 : count;
            return removed ? [] : added ? taken : taken.map((line, index) => (indentOf(line) === indentOf(kept[index] ?? "") ? (kept[index] ?? line) : line));
        });
    }

    /** Grows a region by the lines around that are the same, or the same ones changed. */
    grow(block: readonly string[], first: number, last: number, start: number, end: number, lo: number, hi: number): { start: number; end: number } {
        const goesOn = (a: string | undefined, b: string | undefined) => isSame(a, b) || isChanged(a, b);
        while (first > 0 && start > lo && goesOn(block[first - 1], this.lines[start - 1])) {
            first -= 1;
            start -= 1;
        }
        while (last < block.length && end < hi && goesOn(block[last], this.lines[end])) {
            last += 1;
            end += 1;
        }
        return { start, end };
    }

    /** The region around one line that is known: the lines above and below that follow it in both, nearest first. */
    private align(block: readonly string[], index: number, place: number, lo: number, hi: number, leftOutAt: number | undefined): Region & { score: number } {
        const slack = 4 + Math.floor(block.length / 2);
        const above = this.common(block, range(index - 1, -1), range(place - 1, Math.max(lo, place - index - slack) - 1));
        const below = this.common(block, range(index + 1, block.length), range(place + 1, Math.min(hi, place + block.length - index + slack)));
        const first = above.at(-1) ?? [index, place];
        const last = below.at(-1) ?? [index, place];
        const score = [[index, place] as const, ...above, ...below].reduce((sum, [ours]) => sum + weight(block[ours] ?? ""), 0);
        const grown = this.grow(block, first[0], last[0] + 1, first[1], last[1] + 1, lo, hi);
        const end = Math.max(grown.end, this.bodyEnd(block, last[0], last[1], hi, leftOutAt));
        return { start: grown.start, end, score, from: indentOf(block[first[0]] ?? ""), to: indentOf(this.lines[first[1]] ?? "") };
    }

    /** Where the last known line begins what the block goes on with and ends, the file's end of that goes with it. */
    private bodyEnd(block: readonly string[], ours: number, theirs: number, hi: number, leftOutAt: number | undefined): number {
        const indent = indentOf(block[ours] ?? "");
        const end = endOf(block, ours);
        const isWhole = end > ours + 1 && (isCloser(block[end - 1] ?? "") || leftOutAt === undefined || leftOutAt <= indent || !block.slice(end).every(isBlank));
        return isWhole ? endOf(this.lines, theirs, hi) : theirs + 1;
    }

    /** Pairs of lines that tell and are the same, in order. */
    private common(block: readonly string[], ours: readonly number[], theirs: readonly number[]): Array<readonly [number, number]> {
        const left = theirs.filter((at) => isTelling(this.lines[at] ?? ""));
        const right = ours.filter((at) => isTelling(block[at] ?? ""));
        const changes = diffArrays(left.map((at) => this.lines[at]?.trim()), right.map((at) => block[at]?.trim()), { maxEditLength: MOST_EDITS }) ?? [];
        let before = 0;
        let now = 0;
        return changes.flatMap(({ added, removed, count }) => {
            const pairs = added || removed ? [] : range(0, count).map((n) => [right[now + n] ?? 0, left[before + n] ?? 0] as const);
            before += added ? 0 : count;
            now += removed ? 0 : count;
            return pairs;
        });
    }

    /** Of lines none of which stands in the file: the one line that one of them changes. */
    private changedLine(block: readonly string[], lo: number, hi: number): Region | undefined {
        const telling = block.flatMap((line, index) => (isTelling(line) ? [index] : []));
        if (telling.length === 0 || telling.length > MOST_FUZZY_LINES) {
            return undefined;
        }
        for (const index of telling) {
            const at = this.lineLike(block[index] ?? "", lo, hi);
            if (at !== undefined) {
                return { ...this.grow(block, index, index + 1, at, at + 1, lo, hi), from: indentOf(block[index] ?? ""), to: indentOf(this.lines[at] ?? "") };
            }
        }
        return undefined;
    }

    private lineLike(line: string, lo: number, hi: number): number | undefined {
        const key = keyOf(line);
        const isNamed = key !== undefined && !/^(?:return|throw|raise|yield)$/.test(key);
        let best = { at: -1, score: 0 };
        let second = 0;
        let n = 0;
        for (let at = lo; at < hi; at++) {
            const other = this.lines[at] ?? "";
            if (isBlank(other) || (isNamed && keyOf(other) !== key)) {
                continue;
            }
            const [short, long] = [line.trim().length, other.trim().length].sort((a, b) => a - b) as [number, number];
            const score = !isNamed && short * 2 < long ? 0 : likeness(line, other);
            n += 1;
            if (score > best.score) {
                second = best.score;
                best = { at, score };
            } else {
                second = Math.max(second, score);
            }
        }
        if (isNamed && n > 1) {
            throw new NoPlace("ambiguous");
        }
        return isNamed ? (n === 1 ? best.at : undefined) : best.score >= ALIKE && second < best.score * TOO_CLOSE ? best.at : undefined;
    }
}

function weight(line: string): number {
    return isTelling(line) ? Math.min(line.trim().length, MOST_WEIGHT) : 0;
}

/** From the first to before the last, down as well as up. */
function range(from: number, to: number): number[] {
    return Array.from({ length: Math.abs(to - from) }, (_, n) => (from < to ? from + n : from - n));
}
