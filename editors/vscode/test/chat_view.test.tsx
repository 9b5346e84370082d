// @vitest-environment happy-dom
/** The conversation in the panel: answers with their tools and code, what is waited for, menus, decisions, failures, the title. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import type { FromHost } from "../src/messages";
import type { MessageInfo } from "../src/protocol.gen";
import { listen } from "../src/view/actions";
import { App } from "../src/view/app";
import { dressCode } from "../src/view/code_block";
import { Diff, linesOf } from "../src/view/diff";
import { renderMarkdown } from "../src/view/markdown";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { changeOf, outcomeOf, targetOf } from "../src/view/tool_lines";
import { conversation, message, USAGE } from "./fake_server";

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
    render(<Diff lines={linesOf(shown) ?? []} name="d" />, root);
    expect([...root.querySelectorAll("mark")].map((each) => each.textContent)).toEqual(["2", "3"]);
});

test("a line about a tool's call says what it is about and what came of it", () => {
    expect(targetOf("read_file", '{"path": "src/a.py"}')).toEqual({ text: "a.py", folder: "src", isCode: false });
    expect(targetOf("run_command", '{"command": ["make", "test"]}')).toEqual({ text: "make test", folder: "", isCode: true });
    expect(outcomeOf({ name: "search_files", result: "src/a.py\n3\tx\n10\ty\nb.py\n1\tz\n\n(2 files not searched.)" })).toBe("3 hits in 2 files");
    expect(changeOf("propose_edit", JSON.stringify({ path: "a", edits: [{ old_text: "a\nb", new_text: "a\nc\nd" }, { old_text: "x", new_text: "" }] }))).toEqual({ added: 2, removed: 2 });
    expect(targetOf("read_file", '{"path": "src')).toEqual({ text: "", folder: "", isCode: false });
    const ran = (result: string) => outcomeOf({ name: "run_command", result });
    expect([ran("no\n[Exit status 2.]"), ran("a\nb\n[Exit status 0.]"), ran("[Exit status 0. It wrote nothing.]")]).toEqual(["exit status 2", "2 lines", ""]);
    expect([outcomeOf({ name: "read_file", result: "a\nb" }), outcomeOf({ name: "read_file", result: "" })]).toEqual(["2 lines", ""]);
});

const assistant = (id: number, parts: MessageInfo["parts"], more: Partial<MessageInfo> = {}) => message(id, { role: "assistant", turnId: "t0", text: parts.flatMap((each) => (each.type === "text" ? [each.text ?? ""] : [])).join(""), parts, ...more });
const call = (callId: string, name: string, path: string) => ({ type: "tool_call" as const, callId, name, arguments: JSON.stringify({ path }) });
const result = (id: number, callId: string, text: string, isError = false) => message(id, { role: "tool", turnId: "t0", text: "", parts: [{ type: "tool_result", callId, name: "", text, ...(isError ? { isError } : {}) }] });
const lines = () => [...root.querySelectorAll("details.tool > summary")].filter((each) => each.parentElement?.parentElement?.closest("details") === null).map((each) => [...each.querySelectorAll(".verb, .file, .dir, .out")].map((part) => part.textContent).join(" ").trim());

test("calls of the same tool behind each other are one line that opens, across the steps of an answer", async () => {
    const messages = [
        message(0, { turnId: "t0" }),
        assistant(1, [{ type: "text", text: "I look." }, call("a", "read_file", "src/a.py"), call("b", "read_file", "b.py")]), result(2, "a", "1\n2"), result(3, "b", "The path is not there.", true),
        assistant(4, [call("c", "read_file", "c.py")]), result(5, "c", "1"),
        assistant(6, [call("d", "propose_edit", "src/a.py")]), result(7, "d", "The user said no. Ask.", true),
        assistant(8, [{ type: "text", text: "Done." }]),
    ];
    await show(told(READY, { type: "opened", conversation: conversation("c", 9), total: 9, messages }));
    expect(lines()).toEqual(["Read 3 files 1 failed", "Not run a.py src you said no"]);
    expect(byId("message-4")).toBeNull();
    const run = root.querySelector<HTMLDetailsElement>("details.run");
    await act(() => { if (run !== null) { run.open = true; run.dispatchEvent(new Event("toggle")); } });
    expect([...root.querySelectorAll("details.run details > summary .verb")].map((each) => each.textContent)).toEqual(["Read", "Failed", "Read"]);
    expect(byId("message-8")?.textContent).toContain("Done.");
});

test("results whose calls are not loaded yet stand nowhere, and with their calls once those are", async () => {
    const behind = [result(5, "a", "No.", true), result(6, "b", "1"), result(7, "c", "1"), assistant(8, [{ type: "text", text: "Done." }])];
    const opened = told(READY, { type: "opened", conversation: conversation("c", 9), total: 9, messages: behind });
    await show(opened);
    expect([lines(), byId("message-8")?.textContent.includes("Done.")]).toEqual([[], true]);
    const before = [message(0, { turnId: "t0" }), ...[1, 2, 3].map((id) => message(id)), assistant(4, [call("a", "read_file", "a.py"), call("b", "read_file", "b.py"), call("c", "read_file", "c.py")])];
    await show(reduce(opened, { type: "page", conversationId: "c", total: 9, messages: before }));
    expect(lines()).toEqual(["Read 3 files 1 failed"]);
});

test("long code shows its beginning, and all of it on demand; nothing of it is missing for who copies it", () => {
    const block = (n: number) => {
        const element = document.createElement("div");
        element.className = "code";
        element.append(document.createElement("pre"));
        element.firstElementChild?.append(document.createElement("code"));
        const code = element.querySelector("code");
        if (code !== null) {
            code.textContent = Array.from({ length: n }, (_, line) => `x${line} = ${line}\n`).join("");
        }
        dressCode(element, false);
        root.append(element);
        return element;
    };
    listen(root, (each) => { posted.push(each); });
    const [short, long] = [block(24), block(30)];
    const more = long.querySelector<HTMLElement>("button.more");
    expect([short.querySelector("button.more"), long.classList.contains("is-long"), more?.textContent]).toEqual([null, true, "Show all 30 lines"]);
    long.querySelector<HTMLElement>("[data-code=copy]")?.click();
    expect(posted).toEqual([{ type: "copy", text: long.querySelector("code")?.textContent }]);
    more?.click();
    expect([long.classList.contains("is-long"), more?.textContent, more?.getAttribute("aria-expanded")]).toEqual([false, "Show less", "true"]);
});

test("a service that asks to wait is named and counted down; whatever comes next ends that", async () => {
    const pause = { seq: 1, type: "pause" as const, text: "Too many requests to OpenAI.", retryAfterMs: 84_000, nFailed: 2 };
    const waiting = told(READY, OPENED, { type: "live", live: LIVE }, { type: "deltas", deltas: [pause] });
    await show(waiting);
    expect(byId("pause")?.textContent).toContain("Too many requests to OpenAI.");
    expect(byId("pause")?.textContent).toContain("Two attempts failed. The next one is in 1:24.");
    byId("pause")?.querySelector<HTMLElement>("button")?.click();
    expect(posted).toContainEqual({ type: "retryNow" });
    await show(reduce(waiting, { type: "deltas", deltas: [{ seq: 2, type: "text", text: "Here" }] }));
    expect([byId("pause"), byId("live")?.textContent.trim()]).toEqual([null, "Here"]);
});

const items = () => [...root.querySelectorAll<HTMLElement>("[role=menuitem]")];

test("the menu of the header goes by keys, and gives the focus back", async () => {
    await show(told(READY, OPENED));
    const more = byId("more");
    more?.focus();
    await act(() => { more?.click(); });
    expect(document.activeElement).toBe(items()[0]);
    await press(document.activeElement as Element, "ArrowUp");
    expect(document.activeElement).toBe(items().at(-1));
    await press(document.activeElement as Element, "f");
    expect(document.activeElement?.textContent).toBe("Fork this conversation");
    await act(() => { (document.activeElement as HTMLElement).click(); });
    expect([posted.at(-1), items().length, document.activeElement === more]).toEqual([{ type: "fork" }, 0, true]);
});

test("a message has its actions in a menu as well, and by letters while it has the focus", async () => {
    await show(told(READY, OPENED, ENDED));
    const article = byId("message-1");
    article?.focus();
    await act(() => { article?.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true })); });
    expect(items().map((each) => each.textContent)).toEqual(["Copy answer", "Try again", "Fork from here"]);
    await press(items()[0] as HTMLElement, "Escape");
    await press(article as HTMLElement, "r");
    expect([items().length, posted.at(-1)]).toEqual([0, { type: "retry", turnId: "t" }]);
});

test("a failure says what happened and what can be done, by its kind", async () => {
    const failed = (kind: string) => told(READY, { type: "opened", conversation: conversation("c", 1), total: 1, messages: [message(0)] }, { type: "usage", usage: { ...USAGE, provider: "openai" } }, { type: "failed", sentence: "As the server says it.", isRetryable: true, kind, turnId: "t" });
    const shown = () => [byId("failure")?.querySelector("strong")?.textContent, ...[...(byId("failure")?.querySelectorAll(".do button") ?? [])].map((each) => each.textContent)];
    await show(failed("auth"));
    expect(shown()).toEqual(["OpenAI did not accept the key.", "Change key…", "Switch model…", "Try again"]);
    await show(failed("network"));
    expect(shown()).toEqual(["No connection to OpenAI.", "Try again", "Switch model…"]);
    await show(failed("context_too_long"));
    expect(shown()).toEqual(["This message does not fit.", "Larger model…"]);
    await show(failed("budget_spent"));
    expect(shown()).toEqual(["This month’s budget for models is spent.", "Change the budget…", "Try again"]);
    await show(failed("store"));
    expect([...shown(), byId("failure")?.querySelector("p")?.textContent]).toEqual([undefined, "Try again", "As the server says it."]);
});

test("first questions are about the open file and its errors, where there are any", async () => {
    const starters = () => [...root.querySelectorAll(".starter")].map((each) => each.firstElementChild?.nextElementSibling?.firstChild?.textContent);
    await show(told(READY, { type: "opened", total: 0, messages: [] }));
    expect(starters()).toEqual(["What does this project do?", "Where would I start reading?", "What is tested, and what is not?"]);
    await show(told(READY, { type: "opened", total: 0, messages: [] }, { type: "around", file: "src/my prices.py", errors: 1 }));
    expect(starters().slice(1)).toEqual(["Where would I start reading?", "Help with the error"]);
    await show(told(READY, { type: "opened", total: 0, messages: [] }, { type: "around", file: "src/prices.py", errors: 3 }));
    expect(starters().slice(1)).toEqual(["Explain prices.py", "Help with the 3 errors"]);
    for (const each of [...root.querySelectorAll<HTMLElement>(".starter")].slice(1)) {
        await act(() => each.click());
    }
    expect(posted.slice(-2)).toEqual([{ type: "send", text: "Explain @src/prices.py" }, { type: "send", text: "Help with @problems" }]);
});

test("a conversation that began without a model goes on with one in one click, where there is one by now", async () => {
    const offline: FromHost[] = [READY, OPENED, { type: "usage", usage: USAGE }];
    await show(told(...offline, { type: "models", isSetUp: true, default: "gpt-4o" }));
    expect(byId("quotes-only")?.textContent).toMatch(/^This conversation began without a model/);
    await act(() => { byId("go-on-with")?.click(); });
    expect(posted).toContainEqual({ type: "goOnWith", model: "gpt-4o" });
    await show(told(...offline, { type: "models", isSetUp: false }));
    expect(byId("go-on-with")).toBeNull();
});
