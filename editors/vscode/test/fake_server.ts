/** A server in the shape the panel sees it: answers by method, and streams that the test drives. */
import type { RequestType } from "vscode-languageserver-protocol";

import type { Desk } from "../src/chat/desk";
import type { FromHost } from "../src/messages";
import type { ServerPort } from "../src/port";
import type { ContextUsage, ConversationInfo, MessageInfo, TurnDelta } from "../src/protocol.gen";

export const USAGE: ContextUsage = {
    usedTokens: 100, budgetTokens: 900, wallTokens: 950, percentage: 11, severity: "green", compact: "100 / 900 (11%)", model: "offline", provider: "offline",
    windowTokens: 1000, reserveTokens: 100, limitsSource: "prefix", counting: "exact", messageCount: 2, summaryCount: 0,
    byKind: [{ kind: "messages", tokens: 80 }, { kind: "system", tokens: 20 }], status: "ready",
};

export function conversation(id: string, messageCount: number): ConversationInfo {
    return { conversationId: id, title: id, model: "offline", messageCount, createdAt: "", updatedAt: "", folder: "file:///w", isArchived: false, draft: "" };
}

export function message(id: number, more: Partial<MessageInfo> = {}): MessageInfo {
    const text = `text ${id}`;
    return { id, role: id % 2 === 0 ? "user" : "assistant", text, parts: [{ type: "text", text }], state: "complete", createdAt: "", digest: "", notes: [], isHidden: false, turnId: `t${Math.floor(id / 2)}`, ...more };
}

type Answer = (params: never) => unknown;

export class FakeServer implements ServerPort {
    readonly asked: Array<{ method: string; params: Record<string, unknown> }> = [];
    readonly streams = new Map<string, (delta: TurnDelta) => void>();

    constructor(readonly answers: Record<string, Answer>) {}

    request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R> {
        const method = type.method.replace("palimpsest/", "");
        this.asked.push({ method, params: params as Record<string, unknown> });
        const answer = this.answers[method];
        if (answer === undefined) {
            return Promise.reject(Object.assign(new Error(`no ${method}`), { code: -32601 }));
        }
        return Promise.resolve().then(() => answer(params as never)) as Promise<R>;
    }

    onDelta(token: string, handler: (delta: TurnDelta) => void) {
        this.streams.set(token, handler);
        return { dispose: () => this.streams.delete(token) };
    }

    onWork() {
        return { dispose: () => undefined };
    }

    methods(): string[] {
        return this.asked.map((each) => each.method);
    }
}

export function fakeDesk(): Desk & { readonly done: string[] } {
    const done: string[] = [];
    const note = (what: string) => (text: string) => {
        done.push(`${what} ${text}`);
        return Promise.resolve();
    };
    return {
        done, compare: (files) => note("compare")(files.map((each) => `${each.path} ${each.before ?? "-"} > ${each.after} > ${each.now ?? "-"}`).join(", ")), copy: note("copy"), insert: note("insert"), apply: note("apply"), openLink: note("open"),
        openPlace: note("place"), openPath: note("path"), toTerminal: note("terminal"), addFact: () => note("fact")("about the selection"), folders: () => [{ uri: "file:///w", name: "w" }],
        confirm: () => Promise.resolve(true), input: () => Promise.resolve(undefined), pickModel: () => Promise.resolve(undefined), setUp: () => Promise.resolve(false), choosePython: note("python") as () => Promise<void>, selection: () => undefined, surroundings: () => ({ file: "src/a.py", errors: 0 }),
        openSetting: note("setting"), lastConversation: undefined, newDraft: "", startServer: () => undefined, showLog: () => undefined,
    };
}

/** A store with one conversation of `n` messages. */
export function stored(n: number): Record<string, Answer> {
    const messages = Array.from({ length: n }, (_, id) => message(id));
    return {
        "conversation/list": () => ({ conversations: n === 0 ? [] : [conversation("c", n)] }),
        "recovery/list": () => ({ turns: [] }),
        "turn/changes": () => ({ changes: [] }),
        "conversation/read": ({ start = 0, limit = 200 }: { start?: number; limit?: number }) => ({
            conversation: conversation("c", messages.length), messages: messages.slice(start, start + limit), ...(start + limit < messages.length ? { next: start + limit } : {}),
        }),
        usage: () => USAGE,
        messages: () => messages,
    };
}

export type Told = FromHost[];
