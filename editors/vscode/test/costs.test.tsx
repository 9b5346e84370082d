// @vitest-environment happy-dom
/** What models cost is said in money where a price is known, in tokens where none is, and never more exactly than it is known. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import { ChatController } from "../src/chat/controller";
import type { FromHost, FromView } from "../src/messages";
import type { CostLine, Costs, CostsResult } from "../src/protocol.gen";
import { App } from "../src/view/app";
import { describeTokens, money, price } from "../src/view/costs";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { conversation, fakeDesk, FakeServer, message, stored, USAGE } from "./fake_server";

const LINE: CostLine = { purpose: "answer", provider: "openai", model: "gpt", calls: 2, estimatedCalls: 0, inputTokens: 1_000, cacheReadTokens: 3_000, cacheWriteTokens: 500, outputTokens: 200, dollars: 0.02 };
const UNPRICED: CostLine = { purpose: "answer", provider: "ollama", model: "qwen", calls: 1, estimatedCalls: 0, inputTokens: 900, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 100 };
const summed = (...lines: CostLine[]): Costs => ({ lines, dollars: lines.reduce((sum, each) => sum + (each.dollars ?? 0), 0), isPriced: lines.every((each) => each.dollars !== undefined) });
const SUMMARIES: CostLine = { ...LINE, purpose: "summaries", model: "mini", calls: 1, outputTokens: 50, dollars: 0.005 };
const COSTS: CostsResult = { conversation: summed(LINE, SUMMARIES), today: summed({ ...LINE, dollars: 0.5 }), month: summed({ ...LINE, dollars: 2 }), everywhereDollars: 3.25, pricesAsOf: "2026-11-01", budgetDollars: 4 };

test.each([[0, "$0.00"], [0.000_04, "<$0.0001"], [0.004_23, "$0.0042"], [0.0996, "$0.10"], [0.42, "$0.42"], [1_204.5, "$1,204.50"]])("%f dollars are written %s", (dollars, written) => {
    expect(money(dollars)).toBe(written);
});

test("a price is said as far as it is known", () => {
    expect(price(summed(LINE))).toBe("$0.020");
    expect(price(summed({ ...LINE, estimatedCalls: 1 }))).toBe("about $0.020");
    expect(price(summed(LINE, UNPRICED))).toBe("at least $0.020");
    expect(price(summed(UNPRICED))).toBeUndefined();
    expect(price(summed())).toBe("$0.00");
    expect(describeTokens(summed(LINE))).toBe("4.5k sent · 3.0k from cache · 500 to cache · 200 answered");
    expect(describeTokens(summed(UNPRICED))).toBe("900 sent · 100 answered");
});

let root: HTMLElement;
let posted: FromView[];
beforeEach(() => {
    document.body.replaceChildren();
    root = document.createElement("div");
    document.body.append(root);
    posted = [];
});

const OPENED: FromHost[] = [
    { type: "server", phase: "ready", sentence: "" },
    { type: "opened", conversation: conversation("c", 2), total: 2, messages: [message(0, { createdAt: "2026-11-22T10:00:00Z" }), message(1, { createdAt: "2026-11-22T10:00:03Z" })] },
    { type: "usage", usage: USAGE },
];
const shown = (...messages: FromHost[]) => act(() => {
    const state = [...OPENED, ...messages].reduce<State>(reduce, INITIAL);
    render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: () => undefined }}><App state={state} /></EndsContext.Provider>, root);
});
const byId = (id: string) => root.querySelector(`[data-testid="${id}"]`);
const rowsOf = (id: string) => [...(byId(id)?.children ?? [])].map((row) => [...row.children].map((each) => each.textContent).join(": "));

test("the newest answer says what its turn cost, as soon as that is known, and again when the turn goes on", async () => {
    await shown();
    expect(posted).toEqual([{ type: "costs", turnId: "t0" }]);
    expect(byId("turn-cost")).toBeNull();
    await shown({ type: "costs", conversationId: "c", turnId: "t0", costs: { ...COSTS, turn: summed(LINE) } });
    expect(byId("turn-cost")?.parentElement?.textContent).toMatch(/^gpt · .* · 3 s · \$0\.020$/);
    await shown({ type: "costs", conversationId: "c", turnId: "t0", costs: { ...COSTS, turn: summed(UNPRICED) } });
    expect(byId("turn-cost")?.textContent).toBe("1.0k tokens");
    await shown({ type: "costs", conversationId: "c", turnId: "t0", costs: { ...COSTS, turn: summed(LINE) } }, { type: "ended", status: "committed", turnId: "t0" });
    expect(posted).toEqual([{ type: "costs", turnId: "t0" }, { type: "costs", turnId: "t0" }]);
});

test("what is said of another conversation is not shown in this one", async () => {
    await shown({ type: "costs", conversationId: "other", turnId: "t0", costs: { ...COSTS, turn: summed(LINE) } });
    expect(byId("turn-cost")).toBeNull();
});

test("the ring's card says what the conversation, the day and the month cost, and of which budget", async () => {
    const costs: FromHost = { type: "costs", conversationId: "c", costs: COSTS };
    await shown(costs);
    await act(() => { (byId("window-bar") as HTMLButtonElement).click(); });
    expect(posted.at(-1)).toEqual({ type: "costs" });
    expect(rowsOf("cost-sums")).toEqual(["This conversation: $0.025", "Today in this folder: $0.50", "This month in this folder: $2.00", "This month in all folders: $3.25 of $4.00"]);
    await shown({ type: "costs", conversationId: "c", costs: { ...COSTS, conversation: summed(UNPRICED) } });
    expect(rowsOf("cost-sums")[0]).toBe("This conversation: 900 sent · 100 answered");
    await shown({ type: "costs", conversationId: "c", costs: { conversation: summed(), today: summed(), month: summed(), everywhereDollars: 0, pricesAsOf: "2026-11-01" } });
    expect(byId("cost-sums")).toBeNull();
});

test("the page says what helping models took apart, and where no price is known", async () => {
    const plan = { status: "ready" as const, model: "m", usedTokens: 500, upperTokens: 520, limitTokens: 900, segments: [], wouldSummarize: [] };
    const stats = { strategies: [], compactions: [], durationMs: 0, summaries: [], moments: [] };
    const page: FromHost[] = [{ type: "context", plan, usage: USAGE, stats, events: [] }, { type: "show", page: "context" }];
    await shown(...page, { type: "costs", conversationId: "c", costs: COSTS });
    expect(rowsOf("cost")).toEqual(["Sent: 9.0k3 requests", "From cache: 67%of the tokens sent", "Answers: 200and 50 for summaries and facts", "Price: $0.025at the prices of Nov 1, 2026"]);
    expect(rowsOf("cost-parts").slice(0, 2)).toEqual(["Answers4.5k sent · 3.0k from cache · 500 to cache · 200 answered: $0.020", "Summaries4.5k sent · 3.0k from cache · 500 to cache · 50 answered: $0.0050"]);
    await shown(...page, { type: "costs", conversationId: "c", costs: { ...COSTS, conversation: summed(UNPRICED) } });
    expect(rowsOf("cost").at(-1)).toBe("Price: –No price is known for qwen.");
});

test("the warning about the budget stays until something is chosen; other notices go with the next thing that is done", async () => {
    const told: FromHost[] = [];
    const desk = fakeDesk();
    const controller = new ChatController(new FakeServer(stored(2)), desk, (each) => told.push(each));
    controller.heard({ type: "context_budget", timestamp: "", conversationId: "c", error: "Models have cost $8.10 this month, of your budget of $10.00." });
    const notice = told.at(-1);
    expect(notice).toMatchObject({ type: "notice", level: "warning", about: "budget" });
    const state = [...OPENED, notice as FromHost].reduce<State>(reduce, INITIAL);
    expect(reduce(state, { type: "acted" }).notice?.text).toContain("$8.10");
    expect(reduce(reduce(state, { type: "notice", level: "info", text: "No text is selected." }), { type: "acted" }).notice).toBeUndefined();
    await shown(notice as FromHost);
    const offers = [...(byId("notice")?.querySelectorAll("button") ?? [])];
    expect(offers.map((each) => each.textContent || each.getAttribute("aria-label"))).toEqual(["Dismiss", "What it cost", "Change the budget…"]);
    await act(() => { offers[2]?.click(); });
    await controller.handle(posted.at(-1) as FromView);
    expect(desk.done).toEqual(["setting palimpsest.budget.monthly"]);
});

test("a spent budget is a question whose answers say what they mean", async () => {
    await shown({ type: "approval", id: "q1", request: { conversationId: "c", turnId: "t", tool: "budget", title: "This month's budget for models is spent. Go on today?", shown: "Models have cost $10.02.", covers: "answers for the rest of the day", mayBeAlways: false } });
    expect([...(byId("approval")?.querySelectorAll("footer button") ?? [])].map((each) => each.textContent?.trim() || each.getAttribute("aria-label"))).toEqual(["Go on today Ctrl ⏎", "More answers (Alt+Enter)", "Not now Ctrl ⌫"]);
});
