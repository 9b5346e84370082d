// @vitest-environment happy-dom
/** The files that a turn changed stand under its answer; they are reviewed and taken back file by file or at once. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import { ChatController } from "../src/chat/controller";
import { readFromHost, readFromView, type FromHost, type FromView } from "../src/messages";
import type { FileChange } from "../src/protocol.gen";
import { App } from "../src/view/app";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { filesOf } from "../src/view/turn_changes";
import { conversation, FakeServer, fakeDesk, message, stored } from "./fake_server";

let root: HTMLElement;
beforeEach(() => {
    document.body.replaceChildren();
    root = document.createElement("div");
    document.body.append(root);
});

function change(id: string, path: string, more: Partial<FileChange> = {}): FileChange {
    return { id, turnId: "t0", path, uri: `file:///w/${path}`, kind: "changed", added: 2, removed: 1, state: "applied", canTakeBack: true, at: "", ...more };
}

const told = (...messages: FromHost[]): State => messages.reduce<State>(reduce, INITIAL);
const OPENED: FromHost = { type: "opened", conversation: conversation("c", 2), total: 2, messages: [message(0), message(1)] };
const READY: FromHost = { type: "server", phase: "ready", sentence: "" };

function draw(...items: FileChange[]): FromView[] {
    const posted: FromView[] = [];
    const post = (each: FromView) => {
        expect(readFromView(each)).toBeDefined();
        posted.push(each);
    };
    render(<EndsContext.Provider value={{ post, dispatch: () => undefined }}><App state={told(READY, OPENED, { type: "fileChanges", items })} /></EndsContext.Provider>, root);
    return posted;
}

const row = () => root.querySelector('[data-testid="changes-t0"]');
const button = (name: string) => [...(row()?.querySelectorAll("button") ?? [])].find((each) => (each.getAttribute("aria-label") ?? each.textContent) === name);

test("a turn that changed files says how many and how much, and each can be reviewed and undone", async () => {
    const posted = draw(change("1", "a.py"), change("2", "b.py"), change("3", "a.py"), change("4", "c.py", { turnId: "another" }));
    expect(row()?.querySelector("summary")?.textContent).toBe("2 files changed+6 −3");
    await act(() => {
        button("Review")?.click();
        button("Undo")?.click();
        button("Undo the changes of b.py")?.click();
        button("Review the changes of a.py")?.click();
        button("Undo and try again")?.click();
    });
    expect(posted.filter((each) => each.type !== "read")).toEqual([
        { type: "reviewChanges", turnId: "t0" },
        { type: "undoChanges", turnId: "t0" },
        { type: "undoChanges", turnId: "t0", path: "b.py" },
        { type: "reviewChanges", turnId: "t0", path: "a.py" },
        { type: "retry", turnId: "t0", takeBackChanges: true },
    ]);
});

test("what is taken back cannot be undone again, and what was changed since says so", () => {
    draw(change("1", "a.py", { state: "takenBack", canTakeBack: false }), change("2", "b.py", { canTakeBack: false, reason: "It was changed since." }));
    expect(row()?.querySelector("summary")?.textContent).toBe("1 file changed+2 −1");
    expect(row()?.textContent).toContain("It was changed since.");
    expect(button("Undo the changes of a.py")).toBeUndefined();
    expect(button("Undo the changes of b.py")).toBeUndefined();
    draw(change("1", "a.py", { state: "takenBack", canTakeBack: false }));
    expect(row()?.querySelector("summary")?.textContent).toBe("1 file changed, taken back+2 −1");
    expect(button("Undo")).toBeUndefined();
    expect(button("Review")).toBeDefined();
});

test("an earlier edit under a later one goes with it", () => {
    const earlier = change("1", "a.py", { canTakeBack: false, reason: "A later edit changed the same lines." });
    expect(filesOf([earlier, change("2", "a.py")])).toEqual([{ path: "a.py", added: 4, removed: 2, isTakenBack: false, reason: undefined }]);
});

test("a turn without edits has no such row", () => {
    draw();
    expect(row()).toBeNull();
});

async function panel(files: unknown) {
    const items = [change("1", "a.py"), change("2", "b.py"), change("3", "a.py"), change("4", "a.py", { turnId: "t9" })];
    const server = new FakeServer({
        ...stored(2),
        "turn/changes": () => ({ changes: items }),
        "turn/undoChanges": () => ({ files }),
        "turn/changeTexts": ({ changes }: { changes: string[] }) => ({ path: "a.py", before: "old", after: `new ${changes.join(" ")}`, now: "now" }),
    });
    const desk = fakeDesk();
    const heard: FromHost[] = [];
    const controller = new ChatController(server, desk, (each) => {
        expect(readFromHost(each), each.type).toBeDefined();
        heard.push(each);
    });
    await controller.serverIs("ready", "");
    await controller.handle({ type: "open", conversationId: "c" });
    return { server, desk, heard, controller };
}

test("the edits of a turn, or those of one of its files, are taken back and read again", async () => {
    const { server, heard, controller } = await panel([{ path: "a.py", changes: ["1", "3"], outcome: "takenBack" }]);
    expect(heard.findLast((each) => each.type === "fileChanges")?.items.map((each) => each.id)).toEqual(["1", "2", "3", "4"]);
    await controller.handle({ type: "undoChanges", turnId: "t0" });
    await controller.handle({ type: "undoChanges", turnId: "t0", path: "a.py" });
    expect(server.asked.filter((each) => each.method === "turn/undoChanges").map((each) => each.params["changes"])).toEqual([["1", "2", "3"], ["1", "3"]]);
    expect(server.methods().at(-1)).toBe("turn/changes");
    expect(heard.filter((each) => each.type === "notice")).toEqual([]);
});

test("a file that is left as it is, is named with the reason", async () => {
    const { heard, controller } = await panel([{ path: "a.py", changes: ["1"], outcome: "refused", reason: "It was changed since." }, { path: "b.py", changes: ["2"], outcome: "takenBack" }]);
    await controller.handle({ type: "undoChanges", turnId: "t0" });
    expect(heard.findLast((each) => each.type === "notice")?.text).toBe("Left as it is: a.py: It was changed since.");
});

test("a review compares each file once, over all its edits of the turn", async () => {
    const { desk, controller } = await panel([]);
    await controller.handle({ type: "reviewChanges", turnId: "t0", path: "a.py" });
    expect(desk.done).toEqual(["compare a.py old > new 1 3 > now"]);
});

test("a change of the conversation is followed by its edits, whatever its number", async () => {
    const { server, controller } = await panel([]);
    const before = server.methods().filter((each) => each === "turn/changes").length;
    await controller.conversationChanged({ conversationId: "c", seq: 0 });
    await controller.conversationChanged({ conversationId: "c", seq: 0 });
    await controller.conversationChanged({ conversationId: "other", seq: 9 });
    expect(server.methods().filter((each) => each === "turn/changes").length).toBe(before + 2);
});
