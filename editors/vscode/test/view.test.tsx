// @vitest-environment happy-dom
/** The panel shows what the host told, under the names TESTING.md promises, and says it to screen readers. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import type { FromHost, FromView } from "../src/messages";
import { App } from "../src/view/app";
import { describeShare, shares } from "../src/view/bar";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { conversation, message, USAGE } from "./fake_server";

let root: HTMLElement;
beforeEach(() => {
    document.body.replaceChildren();
    root = document.createElement("div");
    document.body.append(root);
});

const told = (...messages: FromHost[]): State => messages.reduce<State>(reduce, INITIAL);
const byId = (id: string) => root.querySelector(`[data-testid="${id}"]`);
const OPENED: FromHost = { type: "opened", conversation: conversation("c", 2), total: 2, messages: [message(0), message(1)] };
const READY: FromHost = { type: "server", phase: "ready", sentence: "" };

test("messages stand under their names", () => {
    render(<App state={told(READY, OPENED, { type: "usage", usage: USAGE })} />, root);
    expect(byId("message-0")?.getAttribute("aria-label")).toBe("You, message 0");
    expect(byId("message-1")?.textContent).toContain("text 1");
    expect(byId("window-bar")?.getAttribute("data-severity")).toBe("green");
    expect([...root.querySelectorAll('[aria-label="The last answer"] button')].map((each) => each.getAttribute("aria-label"))).toEqual(["Copy answer", "Try again", "Fork from here"]);
});

const SEGMENT = { reason: "", certainty: "exact" as const, isInPrefix: true };
const PLAN = { status: "ready" as const, model: "m", usedTokens: 500, upperTokens: 520, limitTokens: 900, summarizeAtTokens: 720, segments: [], wouldSummarize: [] };
const NO_STATS = { strategies: [], compactions: [], durationMs: 0, summaries: [], moments: [] };

test("the page shows how full each request was, and why the context was made smaller; progress stands on it", () => {
    const moments = [
        { timestamp: "2026-11-22T10:00:00.000Z", tokens: 200, cachedTokens: 150 },
        { timestamp: "2026-11-22T10:01:00.000Z", tokens: 300, cause: "threshold", tokensBefore: 720 },
        { timestamp: "2026-11-22T10:02:00.000Z", tokens: 400 },
    ];
    const context: FromHost = { type: "context", plan: PLAN, usage: USAGE, stats: { ...NO_STATS, moments }, events: [] };
    render(<App state={told(READY, OPENED, context, { type: "show", page: "context" })} />, root);
    expect(root.querySelectorAll(".chart rect.use").length).toBe(2);
    expect(root.querySelector(".chart")?.getAttribute("aria-label")).toBe("Tokens of the last 2 requests: 400 now, at most 400. Changes: summarized from 720 to 300.");
    expect([...(byId("timeline")?.children ?? [])].map((line) => line.textContent)).toEqual(["Summarizedit was 80% full720 → 300"]);
    render(<App state={told(READY, OPENED, context, { type: "show", page: "context" }, { type: "progress", text: "2 of 6 messages" })} />, root);
    expect(byId("progress")?.textContent).toBe("2 of 6 messages");
});

test("each segment of the request can be chosen, in a map and in a list, and leads to its message", async () => {
    const posted: unknown[] = [];
    const segments = [
        { ...SEGMENT, type: "system", tokens: 50 },
        { ...SEGMENT, type: "summary", tokens: 100, messages: { start: 0, end: 4 }, summaryId: 7, originalTokens: 900 },
        { ...SEGMENT, type: "message", tokens: 350, messages: { start: 4, end: 5 }, role: "user" as const, excerpt: "Round half up.", isInPrefix: false },
    ];
    const context: FromHost = { type: "context", plan: { ...PLAN, segments }, usage: USAGE, stats: NO_STATS, events: [] };
    const state = told(READY, OPENED, context, { type: "show", page: "context" });
    const show = () => act(() => {
        render(<EndsContext.Provider value={{ post: (message) => { posted.push(message); }, dispatch: (message) => { posted.push(message); } }}><App state={state} /></EndsContext.Provider>, root);
    });
    await show();
    const names = () => [...root.querySelectorAll("[data-testid=segment]")].map((each) => each.getAttribute("aria-label") ?? each.querySelector(".ellipsis")?.textContent);
    expect(names()).toEqual(["Instructions, 50 tokens, Sent before", "Summary of messages 0–3, 100 tokens, Sent before", "Your message 4, 350 tokens, New, not in the cache"]);
    expect(byId("segment-detail")?.textContent).toContain("Round half up.");
    const press = (name: string) => act(() => { [...root.querySelectorAll("button")].find((each) => each.textContent === name)?.click(); });
    await press("Show in chat");
    await press("Summarize up to here");
    expect(posted).toEqual([{ type: "showMessage", messageId: 4, tab: "originals" }, { type: "summarize", upTo: 4 }]);
    await press("List");
    expect(names()).toEqual(["Instructions", "Summary of messages 0–3", "You: Round half up."]);
});

test("of a long list the rows in sight are elements, and keys reach all of them", async () => {
    const segments = Array.from({ length: 1_000 }, (_, id) => ({ ...SEGMENT, type: "message", tokens: 10, messages: { start: id, end: id + 1 }, role: "user" as const, excerpt: `said ${id}` }));
    const state = told(READY, OPENED, { type: "context", plan: { ...PLAN, segments }, usage: USAGE, stats: NO_STATS, events: [] }, { type: "show", page: "context" });
    await act(() => { render(<App state={state} />, root); });
    await act(() => { [...root.querySelectorAll("button")].find((each) => each.textContent === "List")?.click(); });
    const rows = () => [...root.querySelectorAll<HTMLElement>(".ledger li")];
    expect(rows().length).toBeLessThan(100);
    for (const [key, name] of [["Home", "You: said 0"], ["End", "You: said 999"], ["ArrowUp", "You: said 998"]]) {
        await act(() => { root.querySelector(".ledger")?.dispatchEvent(new KeyboardEvent("keydown", { key: key ?? "", bubbles: true })); });
        expect(document.activeElement?.querySelector(".ellipsis")?.textContent).toBe(name);
        expect(rows().length).toBeLessThan(100);
    }
});

test("originals under a summary say what tools did as the conversation does, and the day once", async () => {
    const summary = { summaryId: 3, messages: { start: 0, end: 4 }, tokens: 100, originalTokens: 2_000, kind: "extractive", text: "Said.", createdAt: "2026-11-22T10:00:00.000Z" };
    const at = (minute: number, day = 20) => new Date(2026, 10, day, 9, minute).toISOString();
    const messages = [
        message(0, { createdAt: at(1, 19) }),
        message(1, { createdAt: at(1), text: "", parts: [{ type: "tool_call", callId: "a", name: "propose_edit", arguments: '{"path": "src/a.py"}' }] }),
        message(2, { role: "tool", createdAt: at(2), text: "", parts: [{ type: "tool_result", callId: "a", text: "The user said no.", isError: true }] }),
        message(3, { createdAt: at(3) }),
    ];
    let state = told(READY, { type: "opened", conversation: conversation("c", 4), total: 4, messages }, { type: "summaries", conversationId: "c", items: [summary] });
    state = reduce(state, { type: "showMessage", messageId: 2, tab: "originals" });
    await act(() => { render(<App state={state} />, root); });
    const originals = byId("originals");
    expect(originals?.querySelector(".tool")?.textContent).toBe("Not runa.pysrcyou said no");
    expect(originals?.querySelector(".is-marked")?.getAttribute("data-original")).toBe("1");
    expect([...originals?.querySelectorAll(".who") ?? []].map((each) => each.textContent)).toEqual([expect.stringMatching(/ 9:01 AM$/), expect.stringMatching(/ 9:01 AM$/), "Answer · 9:03 AM"]);
});

test("summarized messages are one sheet where they were; it opens with the summary or the originals", async () => {
    const summary = { summaryId: 3, messages: { start: 0, end: 2 }, tokens: 100, originalTokens: 2_000, kind: "extractive", text: "Said.", createdAt: "2026-11-22T10:00:00.000Z" };
    const opened: FromHost = { type: "opened", conversation: conversation("c", 4), total: 4, messages: [0, 1, 2, 3].map((id) => message(id)) };
    let state = told(READY, opened, { type: "summaries", conversationId: "c", items: [summary] });
    const show = () => act(() => { render(<App state={state} />, root); });
    await show();
    expect(byId("layer")?.textContent).toContain("2 messages summarized2.0k → 100 tokens");
    expect([0, 1, 2, 3].map((id) => byId(`message-${id}`) !== null)).toEqual([false, false, true, true]);
    state = reduce(state, { type: "showMessage", messageId: 1, tab: "originals" });
    await show();
    expect(byId("originals")?.textContent).toContain("text 1");
    state = reduce(state, { type: "summaries", conversationId: "c", items: [] });
    await show();
    expect([byId("layer"), byId("message-0") !== null]).toEqual([null, true]);
});

test("facts stand by file with what the lines said and say; a forgotten one can be taken back in its place", async () => {
    const fact = { id: 1, factType: "decision" as const, content: "The rate is `RATE`.", entities: [], isStale: true, turnNumber: 1, createdAt: "2026-11-22T10:00:00.000Z", uses: 2, shared: false };
    const source = { uri: "file:///w/src/prices.py", path: "src/prices.py", condition: "changed" as const, startLine: 2, endLine: 2, was: "RATE = 0.19", now: "RATE = 0.20", nowLine: 2 };
    let state = told(READY, OPENED, { type: "facts", folders: [{ uri: "file:///w", name: "w", facts: [{ ...fact, sources: [source] }] }] }, { type: "show", page: "facts" });
    const show = () => act(() => { render(<App state={state} />, root); });
    await show();
    expect(root.querySelector(".file-head")?.textContent).toBe("prices.pysrc1 to check1");
    await act(() => { root.querySelector<HTMLElement>(".fact .text")?.click(); });
    expect([...(byId("then-and-now")?.querySelectorAll("mark") ?? [])].map((each) => each.textContent)).toEqual(["0.19", "0.20"]);
    state = reduce(state, { type: "forgotten", factId: 1, folderUri: "file:///w", isForgotten: true });
    await show();
    expect(root.querySelector(".forgotten")?.textContent).toContain("Undo");
});

test("conversations stand by day; what deleting takes is said before", async () => {
    const at = new Date().toISOString();
    const items = [{ ...conversation("a", 12), updatedAt: at }, { ...conversation("b", 2), updatedAt: "2020-01-02T10:00:00.000Z" }, { ...conversation("gone", 2), title: "", isArchived: true, updatedAt: at }];
    const plan = { messages: { start: 0, end: 12 }, messageCount: 12, summaryCount: 1, factCount: 4, alsoPurged: [] };
    const state = told(READY, OPENED, { type: "conversations", items }, { type: "show", page: "conversations" }, { type: "deletion", conversationId: "a", plan });
    await act(() => { render(<App state={state} />, root); });
    expect([...root.querySelectorAll(".date-head")].map((each) => each.textContent)).toEqual(["Today", "January 2020"]);
    expect(byId("deletion")?.textContent).toContain("Delete “a” for good?12 messages, 1 summary and 4 facts. This cannot be undone. Archiving only hides it.");
    expect(root.textContent).not.toContain("Archived 1");
});

test("the context view shows what the summaries say, and how what was recalled was chosen", () => {
    const recall = { terms: ["pump"], roomTokens: 300, tokens: 40, taken: [{ score: 1.25, tokens: 30, messageId: 3 }], leftOut: [{ score: 0.5, because: "told" as const, factId: 7 }] };
    const plan = { ...PLAN, recall, page: "## Summary 1\n\n### Said by the user\n\n- \\[0\\] Never <b>ever</b>" };
    const state = told(READY, OPENED, { type: "context", plan, usage: USAGE, events: [] }, { type: "show", page: "context" });
    act(() => {
        render(<App state={state} />, root);
    });
    const page = byId("context-page");
    expect([...(page?.querySelectorAll(".block") ?? [])].map((each) => each.textContent.trim())).toEqual(["Summary 1", "Said by the user\n\n[0] Never <b>ever</b>"]);
    const lines = [...(byId("recalled")?.querySelectorAll("p, li") ?? [])].map((each) => each.textContent);
    expect(lines).toEqual(["Looked for: pump", "Added: message 3 (score 1.25), 30 tokens", "Left out: fact 7 (score 0.50), it is there already"]);
});

test("a running answer shows its words once, and is said when it is complete", () => {
    const live: FromHost = { type: "live", live: { fromMessage: 2, seq: -1, parts: [], question: "q" } };
    const running = told(READY, OPENED, live, { type: "deltas", deltas: [{ seq: 0, type: "turn", turnId: "t1", userMessageId: 2 }] }, { type: "deltas", deltas: [{ seq: 1, type: "text", text: "words" }] },
        { type: "page", conversationId: "c", total: 4, messages: [message(2), message(3, { text: "words", parts: [{ type: "text", text: "words" }] })] });
    render(<App state={running} />, root);
    expect(root.textContent.split("words").length).toBe(2);
    expect([byId("stop"), byId("send")].map((each) => each === null)).toEqual([false, true]);
    const ended = reduce(running, { type: "ended", status: "committed", turnId: "t1" });
    expect(ended.announcement).toBe("The answer is complete. words");
});

test("a question of a tool is shown as plain text, and always only where it may be", () => {
    const request = { conversationId: "c", turnId: "t", tool: "run_command", title: "Run it?", shown: "<b>rm</b>", covers: "rm", mayBeAlways: false };
    render(<App state={told(READY, OPENED, { type: "approval", id: "q1", request })} />, root);
    expect(byId("approval")?.querySelector("pre")?.textContent).toBe("<b>rm</b>");
    expect(byId("approval")?.textContent).not.toContain("Always");
});

test("what is typed stays while another page is shown, and behind a draft that comes late", async () => {
    const field = () => byId("composer") as HTMLTextAreaElement | null;
    const show = (state: State) => act(() => { render(<App state={state} />, root); });
    await show(told(READY));
    await act(() => {
        Object.assign(field() ?? {}, { value: "typed" });
        field()?.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const opened = told(READY, { type: "opened", total: 0, messages: [], draft: "kept" });
    await show(opened);
    expect(field()?.value).toBe("kept\ntyped");
    await show(reduce(opened, { type: "goTo", page: "conversations" }));
    expect(field()).toBeNull();
    await show(opened);
    expect(field()?.value).toBe("kept\ntyped");
    await show(reduce(opened, OPENED));
    expect(field()?.value).toBe("");
});

test("what was typed when another conversation is opened is a draft of the one it was typed in", async () => {
    const posted: FromView[] = [];
    const show = (state: State) => act(() => {
        render(<EndsContext.Provider value={{ post: (message) => { posted.push(message); }, dispatch: () => undefined }}><App state={state} /></EndsContext.Provider>, root);
    });
    const first = told(READY, OPENED);
    await show(first);
    await act(() => {
        Object.assign(byId("composer") ?? {}, { value: "typed" });
        byId("composer")?.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await show(reduce(first, { type: "opened", conversation: conversation("other", 0), total: 0, messages: [] }));
    expect((byId("composer") as HTMLTextAreaElement).value).toBe("");
    expect(posted.filter((each) => (each as FromView).type === "draft")).toEqual([{ type: "draft", conversationId: "c", text: "typed" }]);
});

test("pages of another conversation change nothing", () => {
    const state = told(READY, OPENED);
    expect(reduce(state, { type: "page", conversationId: "other", total: 9, messages: [message(8)] })).toBe(state);
});

test("the shares of the bar are the whole window", () => {
    const all = shares(USAGE);
    expect(all.map((each) => [each.kind, each.tokens])).toEqual([["system", 20], ["messages", 80], ["free", 800], ["reserve", 100]]);
    expect(all.reduce((sum, each) => sum + each.percent, 0)).toBeCloseTo(100);
    // Every row of the page is one of these, so what the rows say adds up as well.
    const withMargin = shares({ ...USAGE, budgetTokens: 850 });
    expect(withMargin.map((each) => [each.kind, each.tokens])).toEqual([["system", 20], ["messages", 80], ["free", 750], ["reserve", 100], ["margin", 50]]);
    expect(describeShare(shares(USAGE)[1] ?? { kind: "", tokens: 0, percent: 0 })).toBe("Messages: 80 tokens (8.0 %)");
});
