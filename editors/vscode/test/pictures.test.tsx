// @vitest-environment happy-dom
/** Pictures go from the composer to the server as they are, and come back into the message that shows them. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test } from "vitest";

import { ChatController } from "../src/chat/controller";
import { readFromHost, readFromView, type FromHost } from "../src/messages";
import { App } from "../src/view/app";
import { attach, picturesIn, take } from "../src/view/pictures";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type State } from "../src/view/state";
import { conversation, FakeServer, fakeDesk, message, stored } from "./fake_server";

const BYTES = new Uint8Array([137, 80, 78, 71, 0, 255]);
const DIGEST = "d".repeat(64);
const pasted = (...files: File[]) => ({ files }) as unknown as DataTransfer;

test("what is pasted is handed over byte for byte, and only pictures are", async () => {
    const picture = new File([BYTES], "shot.png", { type: "image/png" });
    const found = picturesIn(pasted(picture, new File(["x"], "a.txt", { type: "text/plain" }), new File(["<svg/>"], "a.svg", { type: "image/svg+xml" })));
    expect(found).toEqual([picture]);
    const posted: unknown[] = [];
    await attach(found, (each) => { posted.push(each); });
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
