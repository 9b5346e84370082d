/** What the pages say of figures, days, segments and facts. */
import { expect, test } from "vitest";

import type { ContextSegment } from "../src/protocol.gen";
import { cellsOf, labelOf, MOST_CELLS, rowsOf } from "../src/view/context_segments";
import { marked, periodsOf } from "../src/view/conversation_days";
import { differing, groupsOf } from "../src/view/fact_groups";
import { day, percent, short } from "../src/view/figures";
import { Heights } from "../src/view/heights";
import { conversation } from "./fake_server";

test("figures are short, and small shares are not zero", () => {
    expect([0, 545, 1_792, 42_037, 99_960, 186_000, 999_600, 2_100_000].map(short)).toEqual(["0", "545", "1.8k", "42.0k", "100k", "186k", "1.0M", "2.1M"]);
    expect([percent(0, 10), percent(1, 900), percent(80, 100), percent(1, 0)]).toEqual(["0%", "<1%", "80%", "0%"]);
});

test("days are those of the calendar", () => {
    const now = new Date(2026, 10, 25, 0, 30);
    expect([new Date(2026, 10, 25, 0, 1), new Date(2026, 10, 24, 23, 59), new Date(2026, 10, 12), new Date(2025, 10, 12)].map((at) => day(at, now))).toEqual(["Today", "Tue", "Nov 12", "Nov 12, 2025"]);
    const of = (id: string, at: Date) => ({ ...conversation(id, 1), updatedAt: at.toISOString() });
    const periods = periodsOf([of("d", new Date(2026, 8, 1)), of("a", now), of("c", new Date(2026, 10, 19)), of("b", new Date(2026, 10, 24, 1))], now);
    expect(periods.map(({ name, items }) => [name, items.map((each) => each.conversationId).join("")])).toEqual([["Today", "a"], ["Yesterday", "b"], ["Last week", "c"], ["September", "d"]]);
});

test("a found word is in sight and marked, whatever the query is", () => {
    expect(marked(`${"x".repeat(90)} half up; Rounding (a.b) is here`, "rounding (a")).toEqual([`…${`${"x".repeat(90)} half up; `.slice(-24).trimStart()}`, "Rounding", " ", "(a", ".b) is here"]);
    expect(marked("as it is", "")).toEqual(["as it is"]);
});

test("a line then and now differs where its words differ", () => {
    expect(differing("RATE = 0.19", "RATE = 0.20")).toEqual({ was: ["RATE = ", "0.19", ""], now: ["RATE = ", "0.20", ""] });
    expect(differing("a b", "a b")).toEqual({ was: ["a b", "", ""], now: ["a b", "", ""] });
});

test("facts that are to be checked come first, in their file and among the files; those of the folder last", () => {
    const fact = (id: number, path: string, isStale: boolean) => ({
        id, factType: "entity" as const, content: "", entities: [], isStale, turnNumber: 0, createdAt: "", uses: 0, shared: false,
        sources: path === "" ? [] : [{ uri: "", path, condition: isStale ? ("changed" as const) : ("fresh" as const), startLine: id }],
    });
    const groups = groupsOf([fact(1, "", false), fact(2, "a.py", false), fact(3, "b.py", false), fact(4, "b.py", true)]);
    expect(groups.map(({ path, facts, stale }) => [path, facts.map((each) => each.id), stale])).toEqual([["b.py", [4, 3], 1], ["a.py", [2], 0], ["", [1], 0]]);
});

test("a request of very many messages has few cells, and loses none of them", () => {
    const message = (id: number): ContextSegment => ({ type: "message", tokens: 10, reason: "", certainty: "exact", isInPrefix: id < 3_000, messages: { start: id, end: id + 1 }, role: id % 2 === 0 ? "user" : "assistant", excerpt: "x" });
    const cells = cellsOf(Array.from({ length: 3_500 }, (_, id) => message(id)));
    expect(cells.length).toBeLessThanOrEqual(MOST_CELLS + 2);
    expect(cells.flatMap((each) => each.segments.map((one) => one.messages?.start))).toEqual(Array.from({ length: 3_500 }, (_, id) => id));
    expect(cells.filter((each) => each.isNew).every((each) => each.segments.every((one) => !one.isInPrefix))).toBe(true);
    expect(labelOf({ ...message(3), type: "preview", role: "tool", excerpt: "pytest answered: 3 passed" })).toBe("Result of pytest, shortened");
});

test("cells of the map stand in rows that are about full; one that is not keeps its empty end", () => {
    const rows = (...tokens: number[]) => rowsOf(cellsOf(tokens.map((each) => ({ type: "message" as const, tokens: each, reason: "", certainty: "exact" as const, isInPrefix: true }))));
    const sizes = (...tokens: number[]) => rows(...tokens).map(({ cells }) => cells.map((each) => each.tokens));
    expect(sizes(100, 1_100, 300, 10, 80, 10, 15, 640)).toEqual([[100, 1_100], [300, 10, 80, 10, 15, 640]]);
    expect(sizes(5, 5, 990)).toEqual([[5, 5, 990]]);
    expect(rows(900, 900, 100, 100).map(({ spare }) => Math.round(spare))).toEqual([0, 0, 90]);
});

test("rows that are folded away take no room, and get it back", () => {
    const heights = new Heights(100, 50);
    heights.fill(10, 90, 0);
    expect([heights.total, heights.indexAt(10 * 50), heights.offset(90)]).toEqual([1_000, 90, 500]);
    heights.fill(10, 90, 50);
    expect(heights.total).toBe(5_000);
});
