// @vitest-environment happy-dom
/** Sharing in the panel: nothing is shared unread, nobody writes over another, and what was typed is said in a fork. */
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeEach, expect, test } from "vitest";

import { ChatController } from "../src/chat/controller";
import { describeHub } from "../src/hub";
import { readFromHost, type FromHost, type FromView } from "../src/messages";
import type { ConversationInfo, HubStatus, ShareResult } from "../src/protocol.gen";
import { App } from "../src/view/app";
import { EndsContext } from "../src/view/post";
import { INITIAL, reduce, type Local, type State } from "../src/view/state";
import { conversation, FakeServer, fakeDesk, message, stored, USAGE } from "./fake_server";

const HUB: HubStatus = { folder: "file:///w", state: "connected", unsent: 0, team: "platform", role: "writer" };
const ANN = { name: "ann", isSelf: false, work: "writing" };
const PLAN: ShareResult = {
    team: "platform", readers: [{ name: "ann", role: "admin", isSelf: true }, { name: "bob", role: "writer", isSelf: false }], messageCount: 2, byteCount: 40_000, resultByteCount: 9_000,
    removals: [{ kind: "AWS access key", messageIds: [0] }], files: ["a.py"], sharesToolResults: true, isCopy: true,
};
const shared = (more: Partial<NonNullable<ConversationInfo["shared"]>> = {}): ConversationInfo => ({ ...conversation("c", 2), shared: { teamId: "t", team: "platform", state: "current", ...more } });

async function panel(answers: Record<string, (params: never) => unknown>) {
    const server = new FakeServer({ "hub/status": () => HUB, ...answers });
    const told: FromHost[] = [];
    const controller = new ChatController(server, fakeDesk(), (each) => {
        expect(readFromHost(each), each.type).toBeDefined();
        told.push(each);
    });
    await controller.serverIs("ready", "");
    return { server, told, controller };
}

test("sharing is confirmed after its dry run, and the chat goes on in what is shared", async () => {
    const asked: unknown[] = [];
    const answers = stored(2);
    answers["conversation/share"] = (params: { confirm?: boolean }) => {
        asked.push(params.confirm);
        return params.confirm === true ? { ...PLAN, conversation: { ...shared(), conversationId: "copy" } } : PLAN;
    };
    const { server, controller, told } = await panel(answers);
    await controller.handle({ type: "share" });
    expect(asked).toEqual([undefined]);
    expect(told.at(-1)).toMatchObject({ type: "sharePlan", plan: { isCopy: true } });
    await controller.handle({ type: "confirmShare", conversationId: "c" });
    expect(asked).toEqual([undefined, true]);
    expect(server.asked.findLast((each) => each.method === "conversation/read")?.params).toMatchObject({ conversationId: "copy" });
});

test("what is refused because somebody else writes can be said in a fork", async () => {
    const answers = stored(2);
    answers["chat"] = ({ conversationId }: { conversationId: string }) => {
        if (conversationId === "c") {
            throw Object.assign(new Error("ann is writing. Wait for the end, or go on in a fork."), { data: { kind: "shared_busy", retryable: true, canFork: true, holder: "ann" } });
        }
        return { conversationId, turnId: "t9", status: "committed", messageIds: [], usage: USAGE };
    };
    answers["conversation/fork"] = () => conversation("fork", 2);
    answers["draft/set"] = () => conversation("c", 2);
    const read = answers["conversation/read"];
    answers["conversation/read"] = (params: { conversationId: string }) => ({ ...(read?.(params as never) as object), conversation: conversation(params.conversationId, 2) });
    const { server, controller, told } = await panel(answers);
    await controller.handle({ type: "send", text: "me too" });
    expect(told.findLast((each) => each.type === "failed")).toMatchObject({ forFork: "me too" });
    await controller.handle({ type: "forkAndGoOn", text: "me too" });
    expect(server.asked.findLast((each) => each.method === "chat")?.params).toMatchObject({ conversationId: "fork", text: "me too" });
});

test("the answer of another machine is followed as soon as it shows something", async () => {
    const answers = stored(2);
    const read = answers["conversation/read"];
    let isRunning = false;
    answers["conversation/read"] = (params: never) => ({ ...(read?.(params) as object), ...(isRunning ? { running: { turnId: "theirs", seq: 1, text: "so " } } : {}) });
    answers["turn/attach"] = () => new Promise(() => undefined);
    const { server, controller, told } = await panel(answers);
    isRunning = true;
    await controller.presenceChanged({ conversationId: "c", writer: { ...ANN, turnId: "theirs" } });
    expect(server.asked.find((each) => each.method === "turn/attach")?.params).toMatchObject({ turnId: "theirs", afterSeq: 1 });
    expect(told.findLast((each) => each.type === "presence")).toMatchObject({ writer: ANN });
});

let root: HTMLElement;
const posted: FromView[] = [];
const dispatched: Local[] = [];
beforeEach(() => {
    document.body.replaceChildren();
    root = document.createElement("div");
    document.body.append(root);
    posted.length = dispatched.length = 0;
});
const told = (...messages: FromHost[]): State => messages.reduce<State>(reduce, INITIAL);
const byId = (id: string) => root.querySelector<HTMLElement>(`[data-testid="${id}"]`);
const show = (state: State) => act(() => {
    render(<EndsContext.Provider value={{ post: (each) => { posted.push(each); }, dispatch: (each) => { dispatched.push(each); } }}><App state={state} /></EndsContext.Provider>, root);
});
const READY: FromHost = { type: "server", phase: "ready", sentence: "" };
const opened = (info: ConversationInfo): FromHost => ({ type: "opened", conversation: info, total: 2, messages: [message(0, { author: "ann" }), message(1)] });

test("without a hub nothing speaks of sharing", async () => {
    await show(told(READY, opened(conversation("c", 2)), { type: "hub", status: { ...HUB, state: "off" } }));
    expect(byId("share")).toBeNull();
});

test("the dry run says who reads, and what is taken out, before anything is shared", async () => {
    await show(told(READY, opened(conversation("c", 2)), { type: "hub", status: HUB }, { type: "sharePlan", conversationId: "c", plan: PLAN }));
    const card = byId("share-plan")?.textContent;
    for (const words of ["ann (you), bob (writer)", "AWS access key: message 0", "a.py", "A copy is shared", "40 kB, of which 9 kB"]) {
        expect(card).toContain(words);
    }
    byId("confirm-share")?.click();
    expect(posted.filter((each) => each.type !== "costs")).toEqual([{ type: "confirmShare", conversationId: "c" }]);
});

test("a shared conversation is marked, and the mark says who reads it", async () => {
    const readers: FromHost = { type: "readers", conversationId: "c", members: PLAN.readers, stores: [{ member: "bob", isThis: false, appliedSeq: 3, isFollowing: true }], headSeq: 4, isAsked: false };
    const state = told(READY, { type: "hub", status: HUB }, opened(shared()), readers);
    await show(state);
    expect(byId("shared-mark")?.title).toBe("Read by ann (you), bob of the team platform. Everybody has the same.");
    expect(byId("message-0")?.getAttribute("aria-label")).toBe("ann, message 0");
    expect(byId("readers")).toBeNull();
    await show(reduce(state, { ...readers, isAsked: true }));
    expect(byId("readers")?.textContent).toContain("bob: has 3 of 4 changes, looks at it now");
});

test("while somebody else writes the composer goes on in a fork", async () => {
    const state = told(READY, { type: "hub", status: HUB }, opened(shared()), { type: "presence", conversationId: "c", writer: ANN });
    await show(state);
    expect(byId("writer")?.textContent).toContain("ann is writing. You can wait");
    expect(byId("send")?.textContent).toBe("Go on in a fork");
    await act(() => {
        const field = byId("composer");
        Object.assign(field ?? {}, { value: "me too" });
        field?.dispatchEvent(new Event("input", { bubbles: true }));
    });
    byId("send")?.click();
    expect(posted).toContainEqual({ type: "forkAndGoOn", text: "me too" });
    await show(reduce(state, { type: "presence", conversationId: "c" }));
    expect(byId("writer")).toBeNull();
    expect(byId("send")?.getAttribute("aria-label")).toBe("Send");
});

test("the tooltip of the status bar says since when the hub is away, and what is not sent", () => {
    expect(describeHub({ ...HUB, state: "away", since: "2026-11-25T10:00:00.000Z", unsent: 3 })).toMatch(/^Hub: away since .*\. Team platform\. 3 changes are not sent yet\.$/);
    expect(describeHub({ ...HUB, state: "off" })).toBe("");
});
