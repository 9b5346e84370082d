// @vitest-environment happy-dom
/** Paths in an answer, the keys of a decision, and the title that is edited in place. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import type { FromHost } from "../src/messages";
import { App } from "../src/view/app";
import { renderMarkdown } from "../src/view/markdown";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
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
