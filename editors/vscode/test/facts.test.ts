/** Facts are grouped so that what needs a look comes first, and each says where it stands and what became of the place. */
import { expect, test } from "vitest";

import { describe, describePlace, group } from "../src/facts/grouping";
import type { FactInfo, FactSource } from "../src/protocol.gen";

const SOURCE: FactSource = { uri: "file:///w/a.py", path: "a.py", condition: "fresh" };

function fact(id: number, more: Partial<FactInfo> = {}): FactInfo {
    return { id, factType: "entity", content: `fact ${id}`, entities: [], sources: [SOURCE], isStale: false, turnNumber: 0, createdAt: "", uses: 0, shared: false, ...more };
}

test("stale facts come first, then files by name, then what is of no file", () => {
    const other = { ...SOURCE, path: "b.py" };
    const groups = group([fact(1, { sources: [] }), fact(2, { sources: [other] }), fact(3), fact(4, { isStale: true, sources: [other] })]);
    expect(groups.map((each) => [each.title, each.facts.map((one) => one.id)])).toEqual([["To check", [4]], ["a.py", [3]], ["b.py", [2]], ["About the whole folder", [1]]]);
});

test("within a file facts stand by their type, then by their words", () => {
    const groups = group([fact(1, { factType: "pinned" }), fact(2, { content: "b" }), fact(3, { content: "a" })]);
    expect(groups[0]?.facts.map((each) => each.id)).toEqual([3, 2, 1]);
});

test("lines are counted from 1 where people read them", () => {
    expect(describePlace({ ...SOURCE, startLine: 5, endLine: 7, symbol: "gross", condition: "changed" })).toBe("gross, a.py:6-8 has changed");
    expect(describePlace({ ...SOURCE, startLine: 5, endLine: 5 })).toBe("a.py:6");
});

test("what a colleague noted has his name beside it", () => {
    expect(describe(fact(1))).toBe("what something is");
    expect(describe(fact(1, { author: "ann", shared: true }))).toBe("what something is, noted by ann");
});
