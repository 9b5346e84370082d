/** What a person does in the panel becomes one request of the protocol, and what was typed or shown is never lost. */
import { expect, test, vi } from "vitest";

import { ChatController } from "../src/chat/controller";
import { readFromHost, type FromHost } from "../src/messages";
import type { ChatParams, TurnDelta } from "../src/protocol.gen";
import { conversation, FakeServer, fakeDesk, message, stored, USAGE } from "./fake_server";

async function panel(answers: Record<string, (params: never) => unknown>) {
    const server = new FakeServer(answers);
    const desk = fakeDesk();
    const told: FromHost[] = [];
    const controller = new ChatController(server, desk, (each) => {
        expect(readFromHost(each), each.type).toBeDefined();
        told.push(each);
    });
    await controller.serverIs("ready", "");
    const of = <T extends FromHost["type"]>(type: T) => told.filter((each): each is Extract<FromHost, { type: T }> => each.type === type);
    return { server, desk, told, controller, of };
}

test("of ten thousand messages the newest are read, and others when they come into sight", async () => {
    const { server, controller, of } = await panel(stored(10_000));
    expect(of("opened").at(-1)).toMatchObject({ total: 10_000 });
    expect(of("opened").at(-1)?.messages[0]?.id).toBe(9_900);
    await controller.handle({ type: "read", conversationId: "c", start: 300 });
    expect(of("page").at(-1)?.messages.map((each) => each.id).slice(0, 2)).toEqual([300, 301]);
    expect(server.asked.filter((each) => each.method === "conversation/read").length).toBe(3);
});

function chatting(deltas: TurnDelta[], end: (params: ChatParams) => unknown) {
    const answers = stored(0);
    const server: { current?: FakeServer } = {};
    answers["chat"] = (params: ChatParams) => {
        for (const delta of deltas) {
            server.current?.streams.get(String(params.partialResultToken))?.(delta);
        }
        return end(params);
    };
    return { answers, server };
}

const TURN: TurnDelta = { seq: 0, type: "turn", turnId: "t0", conversationId: "c", userMessageId: 0 };

test("an answer is streamed and ends with its messages", async () => {
    const { answers, server } = chatting([TURN, { seq: 1, type: "text", text: "hello" }], () => {
        (answers["messages"]?.(undefined as never) as unknown[]).push(message(0), message(1));
        return { conversationId: "c", turnId: "t0", status: "committed", messageIds: [0, 1], usage: USAGE };
    });
    const view = await panel(answers);
    server.current = view.server;
    await view.controller.handle({ type: "send", text: "hi" });
    expect(view.of("live").at(-1)?.live).toMatchObject({ question: "hi" });
    expect(view.of("deltas").flatMap((each) => each.deltas.map(({ seq }) => seq))).toEqual([0, 1]);
    expect(view.of("page").at(-1)?.messages.map((each) => each.id)).toEqual([0, 1]);
    expect(view.told.findIndex((each) => each.type === "ended")).toBeGreaterThan(view.told.findLastIndex((each) => each.type === "page"));
});

test("how full the context is, is told when a conversation begins, while its first answer is waited for", async () => {
    let finish: (result: unknown) => void = () => undefined;
    const { answers, server } = chatting([TURN], () => new Promise((resolve) => { finish = resolve; }));
    const view = await panel(answers);
    server.current = view.server;
    const sent = view.controller.handle({ type: "send", text: "hi" });
    await vi.waitFor(() => expect(view.of("usage").length).toBe(1));
    expect(view.of("ended").length).toBe(0);
    finish({ conversationId: "c", turnId: "t0", status: "committed", messageIds: [0, 1], usage: USAGE });
    await sent;
});

test("a message that was refused is put back into the composer", async () => {
    const { answers } = chatting([], () => { throw Object.assign(new Error("The file is too large."), { data: { retryable: false } }); });
    const { controller, of } = await panel(answers);
    await controller.handle({ type: "send", text: "a long question" });
    expect(of("addDraft").at(-1)?.text).toBe("a long question");
    expect(of("failed").at(-1)).toMatchObject({ sentence: "The file is too large.", isRetryable: false });
});

test("what is typed of a new conversation outlives the panel, until the server has taken it", async () => {
    const { answers, server } = chatting([TURN], () => ({ conversationId: "c", turnId: "t0", status: "committed", messageIds: [0, 1], usage: USAGE }));
    const view = await panel(answers);
    server.current = view.server;
    await view.controller.handle({ type: "draft", text: "a long quest" });
    await view.controller.handle({ type: "ready" });
    expect(view.of("opened").at(-1)).toMatchObject({ total: 0, draft: "a long quest" });
    await view.controller.handle({ type: "send", text: "a long question" });
    expect(view.desk.newDraft).toBe("");
});

test("what is typed of a new conversation is shown before any conversation that was open", async () => {
    const { desk, controller, of } = await panel(stored(2));
    await controller.handle({ type: "newConversation" });
    await controller.handle({ type: "draft", text: "typed" });
    await controller.serverIs("starting", "");
    await controller.serverIs("ready", "");
    expect(of("opened").at(-1)).toMatchObject({ total: 0, draft: "typed" });
    await controller.handle({ type: "open", conversationId: "c" });
    expect(desk.newDraft).toBe("typed");
});

test("a slash and a word is a command, and any other text a message", async () => {
    const answers = { ...stored(2), "command/run": () => ({ text: "**done**" }), chat: () => ({ conversationId: "c", turnId: "t", status: "committed", messageIds: [], usage: USAGE }) };
    const { server, controller, of } = await panel(answers);
    await controller.handle({ type: "send", text: "/usage" });
    expect(of("reply").at(-1)?.text).toBe("**done**");
    await controller.handle({ type: "send", text: "/etc/hosts is what?" });
    expect(server.methods().filter((each) => each === "chat" || each === "command/run")).toEqual(["command/run", "chat"]);
});

test("a turn that runs already is followed from what it has said", async () => {
    const answers = stored(2);
    const read = answers["conversation/read"];
    answers["conversation/read"] = (params: never) => ({ ...(read?.(params) as object), running: { turnId: "t1", seq: 7, text: "so far" } });
    answers["turn/attach"] = () => new Promise(() => undefined);
    const { server, of } = await panel(answers);
    expect(of("live").at(-1)?.live).toMatchObject({ turnId: "t1", seq: 7, parts: [{ type: "text", text: "so far" }] });
    expect(server.asked.find((each) => each.method === "turn/attach")?.params).toMatchObject({ turnId: "t1", afterSeq: 7 });
});

test("the panel is ready behind what it shows, also when that cannot be read", async () => {
    for (const answers of [stored(2), {}]) {
        const { controller, told, of } = await panel(answers);
        await controller.handle({ type: "ready" });
        expect(told.at(-1)).toMatchObject({ type: "server", phase: "ready" });
        expect(of("server").map(({ phase }) => phase)).toEqual(["ready", "ready"]);
        expect(of("opened").length + of("notice").length).toBe(2);
    }
});

test("a reloaded panel is told the running turn again", async () => {
    const answers = stored(2);
    const read = answers["conversation/read"];
    answers["conversation/read"] = (params: never) => ({ ...(read?.(params) as object), running: { turnId: "t1", seq: 7, text: "so far" } });
    answers["turn/attach"] = () => new Promise(() => undefined);
    const { server, controller, of } = await panel(answers);
    await controller.handle({ type: "ready" });
    expect(of("live").length).toBe(2);
    expect(server.methods().filter((each) => each === "turn/attach").length).toBe(1);
});

test("all edits of an answer are accepted by one word, and nothing else is", async () => {
    const { controller, of } = await panel(stored(0));
    const waits = new Promise<void>(() => undefined);
    const request = (tool: string, turnId: string) => ({ conversationId: "c", turnId, tool, title: "Change a.py?", shown: "", covers: "a.py", mayBeAlways: true });
    const answer = controller.ask(request("propose_edit", "t1"), waits);
    await controller.handle({ type: "approve", id: of("approval").at(-1)?.id ?? "", answer: "editsOfTurn" });
    expect(await answer).toBe("once");
    expect(await controller.ask(request("propose_edit", "t1"), waits)).toBe("once");
    void controller.ask(request("run_command", "t1"), waits);
    void controller.ask(request("propose_edit", "t2"), waits);
    expect(of("approval").map((each) => `${each.request.tool} ${each.request.turnId}`)).toEqual(["propose_edit t1", "run_command t1", "propose_edit t2"]);
});

test("the first answer to a question counts, and one settled elsewhere goes away", async () => {
    const { controller, of } = await panel(stored(0));
    const request = { conversationId: "c", turnId: "t", tool: "run_command", title: "Run ls?", shown: "ls", covers: "ls", mayBeAlways: true };
    const answer = controller.ask(request, new Promise(() => undefined));
    const id = of("approval").at(-1)?.id ?? "";
    await controller.handle({ type: "approve", id, answer: "once" });
    await controller.handle({ type: "approve", id, answer: "always" });
    expect(await answer).toBe("once");
    expect(await controller.ask(request, Promise.resolve())).toBe("deny");
    expect(of("approvalGone").length).toBe(2);
});

test("an edited message forks in front of it, and the first one begins a conversation", async () => {
    const ended = { conversationId: "c", turnId: "t", status: "committed", messageIds: [], usage: USAGE };
    const answers = { ...stored(6), "conversation/fork": () => ({ ...({} as object), conversationId: "c" }), chat: () => ended };
    const { server, controller } = await panel(answers);
    await controller.handle({ type: "editAndFork", messageId: 4, text: "other" });
    expect(server.asked.find((each) => each.method === "conversation/fork")?.params).toEqual({ conversationId: "c", messageId: 3 });
    await controller.handle({ type: "editAndFork", messageId: 0, text: "first" });
    const sent = server.asked.filter((each) => each.method === "chat").map((each) => each.params);
    expect(sent.map((each) => [each["text"], each["conversationId"]])).toEqual([["other", "c"], ["first", undefined]]);
});

const ESTIMATED = { "attachments/estimate": ({ attachments }: { attachments: Array<{ path: string }> }) => ({ attachments: attachments.map((each) => ({ label: each.path, tokens: 1 })), tokens: 1 }) };
const COMMITTED = { conversationId: "c", turnId: "t", status: "committed", messageIds: [], usage: USAGE };

test("a message that is edited and sent again has what was attached to it, and not what waits in the composer", async () => {
    const parts = [
        { type: "attachment", name: "src/a.py:3-5", text: "three" }, { type: "attachment", name: "terminal", text: "$ make" },
        { type: "attachment", name: "docs/b.md", text: "mentioned" }, { type: "attachment", name: "src/deep/c.py", text: "of a folder" },
        { type: "image", name: "shot.png", digest: "d1" }, { type: "text", text: "x" },
    ];
    const answers: ReturnType<typeof stored> = {
        ...stored(6), ...ESTIMATED, chat: () => COMMITTED, "conversation/fork": () => ({ conversationId: "c" }),
        "conversation/picture": () => ({ mediaType: "image/png", data: "cGljdHVyZQ==" }),
    };
    (answers["messages"]?.(undefined as never) as unknown[])[4] = message(4, { text: "Compare @docs/b.md, and @src/deep/.", parts });
    const { server, controller, of } = await panel(answers);
    await controller.handle({ type: "attachPath", path: "for the next message.py" });
    await controller.handle({ type: "editAndFork", messageId: 4, text: "again" });
    expect(server.asked.find((each) => each.method === "chat")?.params["attachments"]).toEqual([
        { type: "selection", path: "src/a.py", text: "three", startLine: 3, endLine: 5 },
        { type: "selection", path: "terminal", text: "$ make" },
        { type: "image", name: "shot.png", data: "cGljdHVyZQ==" },
    ]);
    expect(of("chips").at(-1)?.chips.map((each) => each.label)).toEqual(["for the next message.py"]);
});

test.each([
    { type: "editAndFork", messageId: 4, text: "typed long" }, { type: "forkAndGoOn", text: "typed long" }, { type: "send", text: "/pin typed long" },
] as const)("what was typed is in the composer again when it cannot be said: $type", async (act) => {
    const { controller, of } = await panel(stored(6));
    await controller.handle(act);
    expect(of("addDraft").map((each) => each.text)).toEqual([act.text]);
    expect(of("notice").at(-1)?.level).toBe("error");
});

test("what is attached belongs to its conversation, also when that only begins", async () => {
    const list = { conversations: ["a", "b"].map((id) => conversation(id, 0)) };
    const read = ({ conversationId }: { conversationId: string }) => ({ conversation: conversation(conversationId, 0), messages: [] });
    const { controller, of } = await panel({ ...stored(0), ...ESTIMATED, "conversation/list": () => list, "conversation/read": read, chat: () => ({ ...COMMITTED, conversationId: "new" }) });
    const chips = () => of("chips").at(-1)?.chips.map((each) => each.label);
    await controller.handle({ type: "open", conversationId: "a" });
    await controller.handle({ type: "attachPath", path: "a.py" });
    await controller.handle({ type: "open", conversationId: "b" });
    expect(chips()).toEqual([]);
    await controller.handle({ type: "newConversation" });
    await controller.handle({ type: "attachPath", path: "new.py" });
    const sent = controller.handle({ type: "send", text: "Begin" });
    await controller.handle({ type: "attachPath", path: "next.py" });
    await sent;
    expect(chips()).toEqual(["next.py"]);
    await controller.handle({ type: "open", conversationId: "a" });
    expect(chips()).toEqual(["a.py"]);
});

test("what is refused after somebody has gone on to another conversation waits as the draft of its own", async () => {
    let refuse: (() => void) | undefined;
    const read = ({ conversationId }: { conversationId: string }) => ({ conversation: { ...conversation(conversationId, 0), draft: "typed since" }, messages: [] });
    const chat = () => new Promise((_, reject) => { refuse = () => { reject(new Error("No.")); }; });
    const { server, controller, of } = await panel({ ...stored(0), "conversation/read": read, "draft/set": () => ({}), chat });
    await controller.handle({ type: "open", conversationId: "a" });
    const sent = controller.handle({ type: "send", text: "Said in a" });
    await vi.waitFor(() => { expect(refuse).toBeDefined(); });
    await controller.handle({ type: "open", conversationId: "b" });
    refuse?.();
    await sent;
    expect(of("addDraft")).toEqual([]);
    expect(server.asked.find((each) => each.method === "draft/set")?.params).toEqual({ conversationId: "a", text: "typed since\n\nSaid in a" });
});

test("a question of a server that ended is gone, and so is what was said of its answer", async () => {
    const { controller, of } = await panel(stored(2));
    const edit = { conversationId: "c", turnId: "t", tool: "propose_edit", title: "Change a.py?", shown: "", covers: "edits of a.py", mayBeAlways: true };
    const never = new Promise<void>(() => undefined);
    const asked = controller.ask(edit, never);
    await controller.serverIs("starting", "Again in 1 s");
    expect(await asked).toBe("deny");
    expect(of("approvalGone").map((each) => each.id)).toEqual(of("approval").map((each) => each.id));
});

test("what goes wrong is told as the server said it", async () => {
    const { controller, of } = await panel({ ...stored(2), "conversation/archive": () => { throw new Error("It is in use."); } });
    await controller.handle({ type: "archive", conversationId: "c", isArchived: true });
    expect(of("notice").at(-1)).toEqual({ type: "notice", level: "error", text: "It is in use." });
});

test.each(["undo", "redo"] as const)("%s of a change of summaries is told with what it did, and the context shown anew", async (type) => {
    const done = { reason: "It is done.", tokensBefore: 12_000, tokensAfter: 900, covers: { start: 0, end: 4 }, usage: USAGE };
    const plan = { status: "ready", model: "m", usedTokens: 900, upperTokens: 900, limitTokens: 2000, segments: [], wouldSummarize: [] };
    const stats = { strategies: [], summaries: [], compactions: [], moments: [], durationMs: 0 };
    const { server, controller, of } = await panel({ ...stored(2), [`summary/${type}`]: () => done, prepareContext: () => plan, stats: () => stats });
    await controller.handle({ type });
    expect(server.asked.find((each) => each.method === `summary/${type}`)?.params).toEqual({ conversationId: "c" });
    expect(of("notice").at(-1)).toEqual({ type: "notice", level: "info", text: "It is done. 12,000 to 900 tokens." });
    expect(of("progress").map(({ text }) => text).at(-1)).toBe("");
    expect(of("context").at(-1)?.plan.usedTokens).toBe(900);
});

test("where nothing was said yet a change of summaries asks nothing, and says why", async () => {
    const { server, controller, of } = await panel(stored(0));
    await controller.handle({ type: "newConversation" });
    await controller.handle({ type: "redo" });
    expect(server.methods()).not.toContain("summary/redo");
    expect(of("notice").at(-1)?.text).toBe("There is nothing here yet. Ask something first.");
});

test("a draft about code comes behind what is typed, with the focus on it", async () => {
    const { controller, server, told } = await panel(stored(0));
    controller.addDraft("Explain @a.py:1-2.");
    expect(told.slice(-2)).toEqual([{ type: "addDraft", text: "Explain @a.py:1-2." }, { type: "focus" }]);
    expect(server.asked.some((each) => each.method === "chat")).toBe(false);
});

test("a draft that somebody else has written is opened with the focus on it, and nothing is sent", async () => {
    const answers = stored(0);
    const { controller, of, server, told } = await panel(answers);
    await controller.openDraft("c");
    expect(of("setDraft")).toHaveLength(1);
    expect(told.at(-1)).toEqual({ type: "focus" });
    expect(server.asked.some((each) => each.method === "chat")).toBe(false);
});

test("what is selected in a terminal is attached as it is, and nothing is said to be nothing", async () => {
    const { server, controller, told } = await panel({ ...stored(0), "attachments/estimate": () => ({ attachments: [{ label: "terminal", tokens: 3 }], tokens: 3 }) });
    await controller.handle({ type: "attachTerminal", text: " \n" });
    expect(server.asked.map((each) => each.method)).not.toContain("attachments/estimate");
    expect(JSON.stringify(told)).toContain("No text is selected in the terminal.");
    await controller.handle({ type: "attachTerminal", text: "make: *** [all] Error 1\n" });
    expect(server.asked.at(-1)?.params).toMatchObject({ attachments: [{ type: "selection", path: "terminal", text: "make: *** [all] Error 1\n" }] });
});
