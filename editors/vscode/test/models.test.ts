/** VS Code's models reach the server where the user wants it, whole, in order, and never the ones that lead back to it. */
import { expect, test } from "vitest";
import { ResponseError } from "vscode-languageserver-protocol";

import { OfferedModels, type ModelApi } from "../src/native/models";
import type { AskEditorModelParams, EditorModelDeltaParams, EditorModelInfo } from "../src/protocol.gen";

class Text {
    constructor(readonly value: string) {}
}
class Call {
    constructor(readonly callId: string, readonly name: string, readonly input: object) {}
}
class Result {
    constructor(readonly callId: string, readonly content: unknown[]) {}
}
class Message {
    readonly content: unknown[];
    constructor(readonly role: string, content: unknown) {
        this.content = typeof content === "string" ? [new Text(content)] : (content as unknown[]);
    }
    static User = (content: unknown) => new Message("user", content);
    static Assistant = (content: unknown) => new Message("assistant", content);
}

/** As much of a `vscode.LanguageModelChat` as is used. `answers` gives the parts of an answer, or throws. */
function model(vendor: string, id: string, answers: () => Iterable<unknown> = () => [], more: object = {}) {
    const asked: Array<{ messages: Message[]; options: { tools?: unknown[] } }> = [];
    const sendRequest = async (messages: Message[], options: { tools?: unknown[] }) => {
        await Promise.resolve();
        asked.push({ messages, options });
        return {
            stream: (async function* () {
                await Promise.resolve();
                yield* answers();
            })(),
        };
    };
    return { vendor, id, name: id.toUpperCase(), family: id, version: "1", maxInputTokens: 1000.5, sendRequest, asked, ...more };
}

function offered(...models: object[]) {
    const told: EditorModelInfo[][] = [];
    const state = { isWanted: true, models, looks: 0 };
    const lm = {
        selectChatModels: () => {
            state.looks += 1;
            return Promise.resolve(state.models);
        },
    };
    const api = { lm, LanguageModelChatMessage: Message, LanguageModelTextPart: Text, LanguageModelToolCallPart: Call, LanguageModelToolResultPart: Result };
    const offers = new OfferedModels(api as unknown as ModelApi, () => state.isWanted, (infos) => told.push(infos));
    return { offers, told, state };
}

const PARAMS: AskEditorModelParams = { requestId: "r", model: "copilot/gpt", system: "Be brief.", messages: [{ role: "user", parts: [{ type: "text", text: "hi" }] }], maxOutputTokens: 100 };
const NEVER = { isCancellationRequested: false } as never;

async function ask(source: object, more: Partial<AskEditorModelParams> = {}, token = NEVER) {
    const { offers } = offered(source);
    await offers.serverStarted();
    const said: EditorModelDeltaParams[] = [];
    const result = await offers.complete({ ...PARAMS, ...more }, token, async (delta) => {
        await Promise.resolve();
        said.push(delta);
    });
    return { result, said };
}

const kind = (result: unknown) => (result as ResponseError<{ kind: string }>).data?.kind;

test("models are offered by vendor and id, without the extension's own and without those of no known size", async () => {
    const { offers, told } = offered(model("copilot", "gpt"), model("palimpsest", "palimpsest"), model("copilot", "gpt"), model("other", "x", undefined, { maxInputTokens: NaN }));
    await offers.serverStarted();
    expect(told).toEqual([[{ id: "copilot/gpt", name: "GPT", family: "gpt", maxInputTokens: 1000 }]]);
});

test("while the user wants none, VS Code is not asked and the server is told nothing", async () => {
    const { offers, told, state } = offered(model("copilot", "gpt"));
    state.isWanted = false;
    await offers.serverStarted();
    expect([told, state.looks]).toEqual([[], 0]);
    expect(kind(await offers.complete(PARAMS, NEVER, () => Promise.resolve()))).toBe("notFound");
});

test("a change is told once, switching off takes all back, and a new server is told anew", async () => {
    const { offers, told, state } = offered(model("copilot", "gpt"));
    await offers.serverStarted();
    await offers.refresh();
    expect(told.length).toBe(1);
    state.models = [model("copilot", "gpt"), model("copilot", "claude")];
    await offers.refresh();
    expect(told.at(-1)?.map((each) => each.id)).toEqual(["copilot/gpt", "copilot/claude"]);
    state.isWanted = false;
    await offers.refresh();
    expect(told.at(-1)).toEqual([]);
    state.isWanted = true;
    await offers.serverStarted();
    await offers.serverStarted();
    expect(told.length).toBe(5);
});

test("of two looks the later one counts, whichever ends first", async () => {
    const { offers, told, state } = offered(model("copilot", "gpt"));
    const first = offers.refresh();
    state.isWanted = false;
    await offers.refresh();
    await first;
    expect(told).toEqual([]);
});

test("an answer is passed on piece by piece, with its calls", async () => {
    const source = model("copilot", "gpt", () => [new Text("one "), { unknown: true }, new Text("two"), new Call("c1", "read_file", { path: "a" })]);
    const { result, said } = await ask(source);
    expect(said).toEqual([
        { requestId: "r", type: "text", text: "one " },
        { requestId: "r", type: "text", text: "two" },
        { requestId: "r", type: "toolCall", callId: "c1", name: "read_file", arguments: { path: "a" } },
    ]);
    expect(result).toEqual({ stopReason: "toolCalls" });
    expect((await ask(model("copilot", "gpt", () => [new Text("x")]))).result).toEqual({ stopReason: "end" });
});

test("the system text leads as the user's, and the results of an answer's calls stand in one message behind it", async () => {
    const source = model("copilot", "gpt");
    const call = (callId: string) => ({ type: "toolCall" as const, callId, name: "t", arguments: { n: 1 } });
    const result = (callId: string) => ({ role: "tool" as const, parts: [{ type: "toolResult" as const, callId, name: "t", text: `of ${callId}` }] });
    await ask(source, {
        messages: [
            ...PARAMS.messages,
            { role: "assistant", parts: [{ type: "text", text: "I look." }, call("a"), call("b")] },
            result("a"),
            result("b"),
            { role: "user", parts: [{ type: "text", text: "and?" }] },
        ],
        tools: [{ name: "t", description: "d", parameters: { type: "object" } }],
    });
    expect(source.asked[0]?.messages).toEqual([
        Message.User("Be brief."),
        Message.User("hi"),
        Message.Assistant([new Text("I look."), new Call("a", "t", { n: 1 }), new Call("b", "t", { n: 1 })]),
        Message.User([new Result("a", [new Text("of a")]), new Result("b", [new Text("of b")])]),
        Message.User("and?"),
    ]);
    expect(source.asked[0]?.options.tools).toEqual([{ name: "t", description: "d", inputSchema: { type: "object" } }]);
    await ask(source, { system: " " });
    expect(source.asked[1]?.messages).toEqual([Message.User("hi")]);
    expect(source.asked[1]?.options.tools).toBeUndefined();
});

test("what goes wrong is told by kind, and what came before it was passed on", async () => {
    const failing = (error: unknown) =>
        model("copilot", "gpt", function* () {
            yield new Text("half");
            throw error;
        });
    const kinds = new Map<object, string>([
        [{ code: "NoPermissions" }, "noPermission"],
        [{ code: "Blocked" }, "blocked"],
        [{ code: "NotFound" }, "notFound"],
        [{ code: "Unknown", cause: { name: "ChatQuotaExceeded" } }, "quota"],
        [{ code: "", name: "ChatRateLimited" }, "blocked"],
        [{ code: "Unknown", message: "Message exceeds token limit." }, "tooLong"],
        [{ code: "constructor" }, "other"],
        [new Error("PLANTED"), "other"],
    ]);
    for (const [error, expected] of kinds) {
        const { result, said } = await ask(failing(error));
        expect(result).toBeInstanceOf(ResponseError);
        expect(kind(result)).toBe(expected);
        expect((result as ResponseError<unknown>).message).not.toContain("PLANTED");
        expect(said.map((delta) => delta.text)).toEqual(["half"]);
    }
    expect(kind((await ask(failing("a string"))).result)).toBe("other");
    expect(kind((await ask(model("other", "x"))).result)).toBe("notFound");
});

test("a cancelled call ends, and nothing more is said", async () => {
    const token = { isCancellationRequested: false };
    const source = model("copilot", "gpt", function* () {
        yield new Text("one");
        token.isCancellationRequested = true;
        yield new Text("two");
    });
    const { result, said } = await ask(source, {}, token as never);
    expect(said.map((delta) => delta.text)).toEqual(["one"]);
    expect((result as ResponseError<unknown>).code).toBe(-32800);
});
