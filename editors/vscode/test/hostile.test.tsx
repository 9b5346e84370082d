// @vitest-environment happy-dom
/** Names and texts that mean something to JavaScript or to VS Code are names and texts; what is huge is shown in parts. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import { asWords } from "../src/native/words";
import { App } from "../src/view/app";
import { INITIAL, reduce } from "../src/view/state";
import { conversation, message } from "./fake_server";

let root: HTMLElement;
beforeEach(() => {
    root = document.createElement("div");
    document.body.replaceChildren(root);
});

test("a model may call tools whatever it likes", () => {
    const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "isPrototypeOf", "a".repeat(300)];
    const calls = names.map((name, index) => ({ type: "tool_call" as const, callId: String(index), name, arguments: '{"__proto__": {"path": "x"}, "command": [1, null, "ls"]}' }));
    const messages = [message(0), message(1, { text: "", parts: calls })];
    render(<App state={reduce(INITIAL, { type: "opened", conversation: conversation("c", 2), total: 2, messages })} />, root);
    expect(root.querySelector(".run")?.textContent).toContain("7 tools:");
});

test.each([
    ["Change [Repair](command:workbench.action.quit)?", "Change [Repair] (command:workbench.action.quit)?"],
    ["[a](https://example.org/) \u202egpj.exe", "[a] (https://example.org/) ⟨U+202E⟩gpj.exe"],
    ["[a](file:///x)[b](command:y)", "[a] (file:///x)[b] (command:y)"],
])("a notification has no links: %s", (text, shown) => {
    expect(asWords(text)).toBe(shown);
});

test("of an edit of 40,000 lines the first are shown at once, and all on demand", async () => {
    const lines = (sign: string) => Array.from({ length: 20_000 }, (_, n) => `${sign}${n}`).join("\n");
    const request = { conversationId: "c", turnId: "t", tool: "propose_edit", title: "Change a.py?", covers: "edits of a.py", mayBeAlways: true, shown: `--- a/a.py\n+++ b/a.py\n@@ -1,20000 +1,20000 @@\n${lines("-")}\n${lines("+")}` };
    await act(() => { render(<App state={reduce(INITIAL, { type: "approval", id: "q1", request })} />, root); });
    const card = root.querySelector("[data-testid=approval]");
    expect(card?.querySelector(".num")?.textContent).toBe("+20,000 −20,000");
    expect(card?.querySelectorAll(".r").length).toBe(500);
    const more = card?.querySelector<HTMLButtonElement>(".more-lines");
    expect(more?.textContent).toBe("Show 39,500 more lines");
    await act(() => { more?.click(); });
    expect(card?.querySelectorAll(".r").length).toBe(1_500);
});

test("a message that cannot be drawn takes no other with it", async () => {
    const part = { type: "text", get text(): string { throw new Error("broken"); } };
    const messages = [message(0), message(1, { parts: [part] }), message(2)];
    await act(() => { render(<App state={reduce(INITIAL, { type: "opened", conversation: conversation("c", 3), total: 3, messages })} />, root); });
    expect([...root.querySelectorAll("article, .gone")].map((each) => each.getAttribute("aria-label") ?? each.textContent)).toEqual(["You, message 0", "Message 1 could not be shown. Nothing of it is lost.", "You, message 2"]);
});
