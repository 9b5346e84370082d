// @vitest-environment happy-dom
/** Pictures go from the composer to the server as they are, and come back into the message that shows them. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";

import { ChatController } from "../src/chat/controller";
import { readFromHost, readFromView, type FromHost } from "../src/messages";
import { App } from "../src/view/app";
import { attach, picturesIn, receive } from "../src/view/given";
import { take } from "../src/view/pictures";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type Local, type State } from "../src/view/state";
import { conversation, FakeServer, fakeDesk, message, stored } from "./fake_server";

const BYTES = new Uint8Array([137, 80, 78, 71, 0, 255]);
const DIGEST = "d".repeat(64);
const pasted = (...files: File[]) => ({ files, types: ["Files"], getData: () => "" }) as unknown as DataTransfer;
const PICTURE = new File([BYTES], "shot.png", { type: "image/png" });
const CHIP = { id: "1", label: "shot.png", tokens: 54, isSelection: false, thumbnail: "data:image/png;base64,AA==" };

test("what is pasted is handed over byte for byte, and only pictures are", async () => {
    const found = picturesIn(pasted(PICTURE, new File(["x"], "a.txt", { type: "text/plain" }), new File(["<svg/>"], "a.svg", { type: "image/svg+xml" })));
    expect(found).toEqual([PICTURE]);
    const posted: unknown[] = [];
    await attach(found, { post: (each) => { posted.push(each); }, dispatch: () => undefined });
    const [given] = posted.map(readFromView);
    expect(given).toMatchObject({ type: "attachPicture", name: "shot.png" });
    expect(atob((given as { data: string }).data)).toBe(String.fromCharCode(...BYTES));
});

test("the host attaches a picture with its small one, and reads those of messages", async () => {
    const server = new FakeServer({
        ...stored(1),
        "attachments/estimate": () => ({ attachments: [{ label: "shot.png", tokens: 54 }], tokens: 54 }),
        "conversation/picture": () => ({ mediaType: "image/png", data: "AA==", name: "shot.png", width: 1, height: 1 }),
    });
    const told: FromHost[] = [];
    const controller = new ChatController(server, fakeDesk(), (each) => {
        expect(readFromHost(each), each.type).toBeDefined();
        told.push(each);
    });
    await controller.serverIs("ready", "");
    await controller.handle({ type: "attachPicture", name: "shot.png", data: "AA==", thumbnail: "data:image/png;base64,AA==" });
    expect(told.filter((each) => each.type === "chips").at(-1)).toMatchObject({ chips: [{ label: "shot.png", tokens: 54, thumbnail: "data:image/png;base64,AA==" }] });
    expect(server.asked.find((each) => each.method === "attachments/estimate")?.params).toMatchObject({ attachments: [{ type: "image", name: "shot.png", data: "AA==" }] });
    await controller.handle({ type: "readPicture", digest: DIGEST });
    expect(told.at(-1)).toEqual({ type: "picture", digest: DIGEST, url: "data:image/png;base64,AA==" });
});

test("a message asks for its picture once, shows its name until then, and then the picture", async () => {
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const posted: unknown[] = [];
    const shown = { ...message(0), parts: [{ type: "image", name: "shot.png", text: "[image \"shot.png\", 60x40]", digest: DIGEST }, { type: "text", text: "Look" }] };
    const told: FromHost[] = [{ type: "server", phase: "ready", sentence: "" }, { type: "opened", conversation: conversation("c", 1), total: 1, messages: [shown] }];
    const state = told.reduce<State>(reduce, INITIAL);
    await act(() => {
        render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: () => undefined }}><App state={state} /></EndsContext.Provider>, root);
    });
    expect(posted).toContainEqual({ type: "readPicture", digest: DIGEST });
    expect(root.querySelector("[data-testid=picture]")?.textContent).toBe("[image \"shot.png\", 60x40]");
    await act(() => { take({ type: "picture", digest: DIGEST, url: "data:image/png;base64,AA==" }); });
    expect(root.querySelector("[data-testid=picture] img")?.getAttribute("src")).toBe("data:image/png;base64,AA==");
    expect(root.querySelector("[data-testid=picture] img")?.getAttribute("alt")).toBe("shot.png");
});

test("a picture is sent without a text, a file is not", async () => {
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const posted: unknown[] = [];
    const show = async (...chips: { id: string; label: string; tokens: number; isSelection: boolean; thumbnail?: string }[]) => {
        const told: FromHost[] = [{ type: "server", phase: "ready", sentence: "" }, { type: "opened", conversation: conversation("c", 0), total: 0, messages: [] }, { type: "chips", chips }];
        const state = told.reduce<State>(reduce, INITIAL);
        await act(() => {
            render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: () => undefined }}><App state={state} /></EndsContext.Provider>, root);
        });
        await act(() => { root.querySelector<HTMLButtonElement>("[data-testid=send]")?.click(); });
        return posted.map(readFromView).filter((each) => each?.type === "send");
    };
    expect(await show({ id: "1", label: "a.py", tokens: 9, isSelection: false })).toEqual([]);
    expect(await show({ id: "2", label: "shot.png", tokens: 54, isSelection: false, thumbnail: "data:image/png;base64,AA==" })).toEqual([{ type: "send", text: "" }]);
});

test("Enter right after pasting waits until the host has the picture", async () => {
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const posted: unknown[] = [];
    let state = [{ type: "server", phase: "ready", sentence: "" }, { type: "opened", conversation: conversation("c", 0), total: 0, messages: [] } as FromHost].reduce<State>((now, each) => reduce(now, each as FromHost), INITIAL);
    const update = (message: FromHost | Local) => {
        state = reduce(state, message);
        render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: update }}><App state={state} /></EndsContext.Provider>, root);
    };
    await act(() => { update({ type: "chips", chips: [] }); });
    const field = root.querySelector<HTMLTextAreaElement>("[data-testid=composer]");
    await act(() => {
        const event = Object.assign(new Event("paste", { bubbles: true, cancelable: true }), { clipboardData: pasted(PICTURE) });
        field?.dispatchEvent(event);
    });
    const sent = () => posted.map(readFromView).filter((each) => each?.type === "send");
    await act(() => { field?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })); });
    await vi.waitFor(() => { expect(posted.map(readFromView)).toContainEqual(expect.objectContaining({ type: "attachPicture" })); });
    expect(sent()).toEqual([]);
    await act(() => { update({ type: "chips", chips: [CHIP] }); update({ type: "attached" }); });
    expect(sent()).toEqual([{ type: "send", text: "" }]);
});

test("what is dropped and no picture is named; of the folder's files only the explorer's addresses are handed over", () => {
    const done: unknown[] = [];
    const ends = { post: (each: unknown) => { done.push(each); }, dispatch: (each: unknown) => { done.push(each); } };
    receive(pasted(new File(["x"], "notes.txt", { type: "text/plain" })), ends);
    expect(done).toEqual([{ type: "note", text: expect.stringMatching(/^“notes.txt” is no picture/) as unknown }]);
    const uris = (type: string, list: string) => ({ files: [], types: [type], getData: (each: string) => (each === type ? list : "") }) as unknown as DataTransfer;
    receive(uris("text/uri-list", "# two\r\nfile:///a.py\r\nfile:///b.py"), ends);
    expect(done.at(-1)).toEqual({ type: "attachFiles", uris: ["file:///a.py", "file:///b.py"] });
});

test("what is attached while an answer comes goes with the next message; what was refused comes back", async () => {
    let refuse: (() => void) | undefined;
    let finish: (() => void) | undefined;
    const server = new FakeServer({
        ...stored(1),
        "attachments/estimate": ({ attachments }) => ({ attachments: (attachments as { path: string }[]).map((each) => ({ label: each.path, tokens: 1 })), tokens: 1 }),
        chat: () => new Promise((resolve, reject) => {
            finish = () => { resolve({ turnId: "t", status: "committed", conversationId: "c", usage: {} }); };
            refuse = () => { reject(new Error("No.")); };
        }),
    });
    const told: FromHost[] = [];
    const controller = new ChatController(server, fakeDesk(), (each) => { told.push(each); });
    await controller.serverIs("ready", "");
    const chips = () => (told.filter((each) => each.type === "chips").at(-1)?.chips ?? []).map((each) => each.label);
    await controller.handle({ type: "attachFiles", uris: ["vscode-remote://ssh-remote+host/w/a.py"] });
    expect(chips()).toEqual(["file:///w/a.py"]);
    const first = controller.handle({ type: "send", text: "One" });
    await vi.waitFor(() => { expect(finish).toBeDefined(); });
    await controller.handle({ type: "attachPath", path: "b.py" });
    finish?.();
    await first;
    expect(chips()).toEqual(["b.py"]);
    finish = undefined;
    const second = controller.handle({ type: "send", text: "Two" });
    await vi.waitFor(() => { expect(finish).toBeDefined(); });
    refuse?.();
    await second;
    expect(chips()).toEqual(["b.py"]);
    expect(told).toContainEqual({ type: "addDraft", text: "Two" });
});

test("the open file is offered until it is attached, and not where no model reads it", async () => {
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const posted: unknown[] = [];
    const show = async (...told: FromHost[]) => {
        const all: FromHost[] = [{ type: "server", phase: "ready", sentence: "" }, { type: "opened", total: 0, messages: [] }, { type: "around", file: "src/a.py", errors: 0 }, ...told];
        await act(() => {
            render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: () => undefined }}><App state={all.reduce<State>(reduce, INITIAL)} /></EndsContext.Provider>, root);
        });
        return root.querySelector<HTMLButtonElement>("[data-testid=offered-file]");
    };
    (await show({ type: "models", isSetUp: true }))?.click();
    expect(posted).toContainEqual({ type: "attachPath", path: "src/a.py" });
    expect(await show({ type: "models", isSetUp: true }, { type: "chips", chips: [{ id: "1", label: "src/a.py", tokens: 9, isSelection: false }] })).toBeNull();
    expect(await show({ type: "models", isSetUp: false })).toBeNull();
});
