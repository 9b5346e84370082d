// @vitest-environment happy-dom
/** Paths in an answer, the keys of a decision, and the title that is edited in place. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import type { FromHost } from "../src/messages";
import { App } from "../src/view/app";
import { linesOf } from "../src/view/diff";
import { renderMarkdown } from "../src/view/markdown";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { outcomeOf, targetOf } from "../src/view/tool_lines";
import { conversation, message } from "./fake_server";

let root: HTMLElement;
let posted: unknown[];
beforeEach(() => {
    posted = [];
    document.body.replaceChildren();
    root = document.createElement("div");
    document.body.append(root);
});

const told = (...messages: FromHost[]): State => messages.reduce<State>(reduce, INITIAL);
const byId = (id: string) => root.querySelector<HTMLElement>(`[data-testid="${id}"]`);
const show = (state: State) => act(() => {
    render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: () => undefined }}><App state={state} /></EndsContext.Provider>, root);
});
const press = (at: EventTarget, key: string, ctrlKey = false) => act(() => { at.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey, bubbles: true })); });
const READY: FromHost = { type: "server", phase: "ready", sentence: "" };
const OPENED: FromHost = { type: "opened", conversation: conversation("c", 2), total: 2, messages: [message(0), message(1)] };

test("a decision is answered by keys from everywhere in the panel; what is typed keeps its Backspace", async () => {
    const request = { conversationId: "c", turnId: "t", tool: "run_command", title: "Run this?", shown: "make", covers: "make", mayBeAlways: true };
    await show(told(READY, OPENED, { type: "approval", id: "1", request }));
    const field = byId("composer") as HTMLTextAreaElement;
    field.focus();
    field.value = "typed";
    await press(field, "Backspace", true);
    expect(posted).not.toContainEqual({ type: "approve", id: "1", answer: "deny" });
    field.value = "";
    await press(field, "Backspace", true);
    await press(field, "Enter", true);
    expect(posted.slice(-2)).toEqual([{ type: "approve", id: "1", answer: "deny" }, { type: "approve", id: "1", answer: "once" }]);
});

test("the title is edited in place: Enter keeps it, Escape does not", async () => {
    await show(told(READY, OPENED));
    const type = async (text: string, key: string) => {
        await press(document, "F2");
        const field = byId("title-field") as HTMLInputElement;
        await act(() => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); });
        await press(field, key);
    };
    await type("Not this", "Escape");
    await type("Tax rates", "Enter");
    expect(posted.filter((each) => (each as { type: string }).type === "rename")).toEqual([{ type: "rename", conversationId: "c", title: "Tax rates" }]);
});

test("paths are references, and no address becomes one", () => {
    const refs = (markdown: string) => {
        const element = document.createElement("div");
        element.append(renderMarkdown(markdown));
        return [...element.querySelectorAll<HTMLElement>("a.ref")].map((each) => [each.dataset["path"], each.dataset["line"]]);
    };
    expect(refs("See src/prices.py:11, `src/invoice.py` and b.py:3.")).toEqual([["src/prices.py", "11"], ["src/invoice.py", undefined], ["b.py", "3"]]);
    expect(refs("See https://example.com/a/b.py, ../x/y.py, e.g. this, 1.5 and [a/b.py](https://example.com).")).toEqual([]);
});

const LIVE = { turnId: "t", fromMessage: 2, seq: 0, parts: [] };
const ENDED: FromHost = { type: "ended", status: "committed", turnId: "t" };
const sent = () => posted.filter((each) => (each as { type: string }).type === "send");
const drafts = () => posted.filter((each) => (each as { type: string }).type === "draft");
const type = async (text: string) => {
    const field = byId("composer") as HTMLTextAreaElement;
    await act(() => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); });
    await press(field, "Enter");
};

test("what is typed during an answer is said when it has ended, also when another page was looked at meanwhile", async () => {
    let state = told(READY, OPENED, { type: "live", live: LIVE });
    await show(state);
    await type("And then?");
    await type("In short.");
    expect([sent(), byId("queued")?.textContent]).toEqual([[], "Sends after this answer: And then?\n\nIn short."]);
    await show({ ...state, page: "facts" });
    state = reduce(state, ENDED);
    await show({ ...state, page: "facts" });
    expect(sent()).toEqual([]);
    await show(state);
    expect(sent()).toEqual([{ type: "send", text: "And then?\n\nIn short." }]);
    expect(byId("queued")).toBeNull();
});

test("an answer that is stopped gives back what waits for its end", async () => {
    const state = told(READY, OPENED, { type: "live", live: LIVE });
    await show(state);
    await type("And then?");
    await show(reduce(state, { type: "ended", status: "cancelled", turnId: "t" }));
    expect([sent(), (byId("composer") as HTMLTextAreaElement).value]).toEqual([[], "And then?"]);
});

test("what waits is a draft of its conversation, and is said in no other", async () => {
    const state = told(READY, OPENED, { type: "live", live: LIVE });
    await show(state);
    await type("And then?");
    await show(reduce({ ...state, live: undefined }, { type: "opened", conversation: conversation("d", 2), total: 2, messages: [message(0), message(1)] }));
    expect([sent(), drafts().at(-1)]).toEqual([[], { type: "draft", text: "And then?", conversationId: "c" }]);
});

test("arrow up brings back what was said last", async () => {
    await show(told(READY, OPENED));
    await press(byId("composer") as HTMLElement, "ArrowUp");
    expect((byId("composer") as HTMLTextAreaElement).value).toBe(message(0).text);
});

test("a diff has its line numbers, and says what it leaves out", () => {
    const shown = "--- a/p.py\n+++ b/p.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n@@ -9 +9,2 @@\n z = 4\n+w = 5\n";
    expect(linesOf(shown)?.map(({ kind, number, text }) => [kind, number, text])).toEqual([
        ["same", 1, "x = 1"], ["del", 2, "y = 2"], ["add", 2, "y = 3"], ["gap", 0, "6 unchanged lines"], ["same", 9, "z = 4"], ["add", 10, "w = 5"],
    ]);
    expect(linesOf("rm -rf build")).toBeUndefined();
});

test("a line about a tool's call says what it is about and what came of it", () => {
    expect(targetOf("read_file", '{"path": "src/a.py"}')).toEqual({ text: "a.py", folder: "src", isCode: false });
    expect(targetOf("run_command", '{"command": ["make", "test"]}')).toEqual({ text: "make test", folder: "", isCode: true });
    expect(targetOf("read_file", '{"path": "src')).toEqual({ text: "", folder: "", isCode: false });
    const ran = (result: string) => outcomeOf({ name: "run_command", result });
    expect([ran("no\n[Exit status 2.]"), ran("a\nb\n[Exit status 0.]"), ran("[Exit status 0. It wrote nothing.]")]).toEqual(["exit status 2", "2 lines", ""]);
    expect([outcomeOf({ name: "read_file", result: "a\nb" }), outcomeOf({ name: "read_file", result: "" })]).toEqual(["2 lines", ""]);
});
