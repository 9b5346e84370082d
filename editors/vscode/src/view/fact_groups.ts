/** Facts by the file that they rest on, and what is said of each. */
import type { FactInfo, FactSource } from "../protocol.gen";
import { FACTS } from "../texts";

export type Condition = "changed" | "missing" | "moved" | "pinned" | "fresh";

export const STATES: Readonly<Record<Condition, { readonly icon: string; readonly name: string }>> = {
    changed: { icon: "warning", name: FACTS.states.changed },
    missing: { icon: "circle-slash", name: FACTS.states.missing },
    moved: { icon: "arrow-down", name: FACTS.states.moved },
    pinned: { icon: "pinned", name: FACTS.states.pinned },
    fresh: { icon: "check", name: FACTS.states.fresh },
};

export function conditionOf(fact: FactInfo): Condition {
    const conditions = fact.sources.map((each) => each.condition);
    if (conditions.includes("changed")) {
        return "changed";
    }
    if (conditions.includes("missing")) {
        return "missing";
    }
    if (fact.factType === "pinned") {
        return "pinned";
    }
    return conditions.includes("moved") ? "moved" : "fresh";
}

/** The place to name: a stale one before others. */
export function placeOf(fact: FactInfo): FactSource | undefined {
    return fact.sources.find((each) => each.condition === "changed" || each.condition === "missing") ?? fact.sources[0];
}

/** `RATE, line 3`, `lines 1–5`, `the file`. Lines are counted from 1. */
export function whereOf(source: FactSource): string {
    const first = source.startLine === undefined ? undefined : source.startLine + 1;
    const last = source.endLine === undefined ? first : source.endLine + 1;
    const lines = first === undefined ? "" : first === last ? FACTS.line(first) : FACTS.lines(first, last ?? first);
    const symbol = source.symbol ?? "";
    return [symbol, lines].filter((each) => each !== "").join(", ") || FACTS.theFile;
}

export interface FileGroup {
    /** Empty for facts about the whole folder. */
    readonly path: string;
    readonly facts: readonly FactInfo[];
    readonly stale: number;
}

/** By path, facts without a file last; within a file the stale ones first, then by line. */
export function groupsOf(facts: readonly FactInfo[]): FileGroup[] {
    const files = new Map<string, FactInfo[]>();
    for (const each of facts) {
        const path = placeOf(each)?.path ?? "";
        files.set(path, [...(files.get(path) ?? []), each]);
    }
    const rank = (each: FactInfo) => (each.isStale ? 0 : 1);
    const line = (each: FactInfo) => placeOf(each)?.startLine ?? -1;
    const isStale = (group: FileGroup) => (group.stale > 0 ? 0 : 1);
    return [...files]
        .map(([path, those]) => ({ path, facts: those.toSorted((a, b) => rank(a) - rank(b) || line(a) - line(b) || a.id - b.id), stale: those.filter((each) => each.isStale).length }))
        .toSorted((a, b) => Number(a.path === "") - Number(b.path === "") || isStale(a) - isStale(b) || a.path.localeCompare(b.path));
}

/** Whether any of its words are in the statement, the names or the paths. */
export function matches(fact: FactInfo, query: string): boolean {
    const text = [fact.content, ...fact.entities, ...fact.sources.map((each) => each.path)].join("\n").toLowerCase();
    return query.toLowerCase().split(/\s+/u).every((word) => text.includes(word));
}

/** A line before and now: what both begin with, what differs, what both end with. */
export function differing(was: string, now: string): { readonly was: readonly [string, string, string]; readonly now: readonly [string, string, string] } {
    const [a, b] = [tokens(was), tokens(now)];
    let first = 0;
    while (first < a.length && first < b.length && a[first] === b[first]) {
        first++;
    }
    let last = 0;
    while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) {
        last++;
    }
    const cut = (all: readonly string[]): readonly [string, string, string] => [all.slice(0, first).join(""), all.slice(first, all.length - last).join(""), all.slice(all.length - last).join("")];
    return { was: cut(a), now: cut(b) };
}

function tokens(line: string): string[] {
    return line.match(/[\p{L}\p{N}_.]+|\s+|[^\p{L}\p{N}_.\s]/gu) ?? [];
}
