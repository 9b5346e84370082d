/** Facts as the tree shows them. */
import type { FactInfo, FactSource } from "../protocol.gen";
import { FACT_ROWS, FACTS } from "../texts";

export interface Group {
    readonly title: string;
    readonly facts: readonly FactInfo[];
}

const byType = (a: FactInfo, b: FactInfo) => a.factType.localeCompare(b.factType) || a.content.localeCompare(b.content);

/** By their first file, those of no file last; by type within. */
export function byFile(facts: readonly FactInfo[]): Group[] {
    const files = new Map<string, FactInfo[]>();
    for (const each of facts) {
        const file = each.sources[0]?.path ?? "";
        files.set(file, [...(files.get(file) ?? []), each]);
    }
    return [...files].sort(([a], [b]) => (a === "" ? 1 : b === "" ? -1 : a.localeCompare(b))).map(([file, those]) => ({ title: file === "" ? FACTS.wholeFolder : file, facts: those.sort(byType) }));
}

/** Stale ones in a group of their own, in front. */
export function group(facts: readonly FactInfo[]): Group[] {
    const stale = facts.filter((each) => each.isStale).sort(byType);
    const groups = byFile(facts.filter((each) => !each.isStale));
    return stale.length === 0 ? groups : [{ title: FACTS.toCheck, facts: stale }, ...groups];
}

/** A place, with its lines counted from 1 and what has become of it. */
export function describePlace(source: FactSource): string {
    const lines = source.startLine === undefined ? "" : `:${source.startLine + 1}${source.endLine === undefined || source.endLine === source.startLine ? "" : `-${source.endLine + 1}`}`;
    return `${source.symbol === undefined ? "" : `${source.symbol}, `}${source.path}${lines} ${FACT_ROWS.conditions[source.condition]}`.trim();
}

/** What stands beside a statement: its kind, and the colleague who noted it. */
export function describe(fact: FactInfo): string {
    const kind = FACT_ROWS.kinds[fact.factType];
    return fact.author === undefined ? kind : FACT_ROWS.notedBy(kind, fact.author);
}
