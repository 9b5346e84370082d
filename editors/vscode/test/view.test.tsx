// @vitest-environment happy-dom
/** The panel shows what the host told, under the names TESTING.md promises, and says it to screen readers. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import { describeMoment } from "../src/chat/events";
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
    expect(byId("ending")?.textContent).toContain("Retry");
});

test("the time line shows how full each request was, and why a cut was taken anew; progress stands above it", () => {
    const moments = [
        { timestamp: "2026-11-22T10:00:00.000Z", tokens: USAGE.budgetTokens / 4 },
        { timestamp: "2026-11-22T10:01:00.000Z", tokens: 900, cause: "threshold", tokensBefore: 12_000 },
        { timestamp: "2026-11-22T10:02:00.000Z", tokens: USAGE.budgetTokens * 3 },
    ];
    const plan = { status: "ready", model: "m", usedTokens: 1, upperTokens: 1, limitTokens: 2, segments: [], wouldSummarize: [] } as const;
    const context: FromHost = { type: "context", plan: { ...plan, segments: [], wouldSummarize: [] }, usage: USAGE, events: moments.map(describeMoment) };
    render(<App state={told(READY, OPENED, context, { type: "show", page: "context" })} />, root);
    const lines = [...(byId("timeline")?.children ?? [])];
    expect(lines.map((line) => line.querySelector<HTMLElement>(".use span")?.style.width)).toEqual(["25%", undefined, "100%"]);
    expect(lines[1]?.textContent).toContain("Compaction because the context was too full, 12,000 to 900 tokens");
    render(<App state={told(READY, OPENED, context, { type: "show", page: "context" }, { type: "progress", text: "2 of 6 messages" })} />, root);
    expect(byId("progress")?.textContent).toBe("2 of 6 messages");
});

test("the context view shows what the summaries say, and how what was recalled was chosen", () => {
    const recall = { terms: ["pump"], roomTokens: 300, tokens: 40, taken: [{ score: 1.25, tokens: 30, messageId: 3 }], leftOut: [{ score: 0.5, because: "told" as const, factId: 7 }] };
    const plan = { status: "ready" as const, model: "m", usedTokens: 1, upperTokens: 1, limitTokens: 2, segments: [], wouldSummarize: [], recall, page: "## Summary 1\n\n### Said by the user\n\n- \\[0\\] Never <b>ever</b>" };
    const state = told(READY, OPENED, { type: "context", plan, usage: USAGE, events: [] }, { type: "show", page: "context" });
    act(() => {
        render(<App state={state} />, root);
    });
    const page = byId("context-page");
    expect([...(page?.querySelectorAll(".block") ?? [])].map((each) => each.textContent.trim())).toEqual(["Summary 1", "Said by the user\n\n[0] Never <b>ever</b>"]);
    const lines = [...(byId("recalled")?.querySelectorAll("p, li") ?? [])].map((each) => each.textContent);
    expect(lines).toEqual(["Looked for: pump", "Told: message 3 (score 1.25), 30 tokens", "Left out: fact 7 (score 0.50), the context tells it already"]);
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
    expect(posted).toEqual([{ type: "draft", conversationId: "c", text: "typed" }]);
});

test("pages of another conversation change nothing", () => {
    const state = told(READY, OPENED);
    expect(reduce(state, { type: "page", conversationId: "other", total: 9, messages: [message(8)] })).toBe(state);
});

test("the shares of the bar are the whole window", () => {
    const all = shares(USAGE);
    expect(all.map((each) => [each.kind, each.tokens])).toEqual([["system", 20], ["messages", 80], ["free", 800], ["reserve", 100]]);
    expect(all.reduce((sum, each) => sum + each.percent, 0)).toBeCloseTo(100);
    expect(describeShare(shares(USAGE)[1] ?? { kind: "", tokens: 0, percent: 0 })).toBe("Messages: 80 tokens (8.0 %)");
});
