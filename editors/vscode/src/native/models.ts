/** The language models of VS Code itself: offered to the server where the user wants that, and asked when it asks. */
import type * as vscode from "vscode";
import { ResponseError } from "vscode-languageserver-protocol";

import type { AskEditorModelParams, AskEditorModelResult, EditorModelDeltaParams, EditorModelErrorData, EditorModelErrorKind, EditorModelInfo, EditorModelMessage, EditorModelPart } from "../protocol.gen";
import { PARTICIPANT } from "../texts";

/** What this extension contributes itself; the server would ask the server. */
const OWN_VENDOR = "palimpsest";
const REQUEST_CANCELLED = -32800;
const REQUEST_FAILED = -32803;

/** What of `vscode` is used here. */
export type ModelApi = Pick<
    typeof vscode,
    "lm" | "LanguageModelChatMessage" | "LanguageModelTextPart" | "LanguageModelToolCallPart" | "LanguageModelToolResultPart"
>;

export class OfferedModels {
    private models = new Map<string, vscode.LanguageModelChat>();
    private told = "[]";
    private looks = 0;

    /** `tell`: to the server, in the place of what it was told before. */
    constructor(
        private readonly api: ModelApi,
        private readonly isWanted: () => boolean,
        private readonly tell: (models: EditorModelInfo[]) => void,
    ) {}

    /** A server that has just started knows of none. */
    async serverStarted(): Promise<void> {
        this.told = "[]";
        await this.refresh();
    }

    /** Looks again, and tells what has changed. While the user wants no models to be offered, VS Code is not asked for any. */
    async refresh(): Promise<void> {
        const look = ++this.looks;
        const found = this.isWanted() ? await Promise.resolve(this.api.lm.selectChatModels()).catch(() => []) : [];
        if (look !== this.looks) {
            return;
        }
        this.models = new Map();
        for (const model of found) {
            const id = `${model.vendor}/${model.id}`;
            if (model.vendor !== OWN_VENDOR && Number.isFinite(model.maxInputTokens) && !this.models.has(id)) {
                this.models.set(id, model);
            }
        }
        const infos = [...this.models].map(([id, { name, family, maxInputTokens }]) => ({ id, name, family, maxInputTokens: Math.floor(maxInputTokens) }));
        const said = JSON.stringify(infos);
        if (said !== this.told) {
            this.told = said;
            this.tell(infos);
        }
    }

    /** `say` sends a piece; the next one waits for it, so that they stay in order. */
    async complete(params: AskEditorModelParams, token: vscode.CancellationToken, say: (delta: EditorModelDeltaParams) => Promise<void>): Promise<AskEditorModelResult | ResponseError<EditorModelErrorData>> {
        const model = this.isWanted() ? this.models.get(params.model) : undefined;
        if (model === undefined) {
            return failed("notFound");
        }
        const { requestId } = params;
        let hasCalls = false;
        try {
            const response = await model.sendRequest(this.messages(params), options(params), token);
            for await (const part of response.stream) {
                if (token.isCancellationRequested) {
                    break;
                }
                if (part instanceof this.api.LanguageModelTextPart) {
                    await say({ requestId, type: "text", text: part.value });
                } else if (part instanceof this.api.LanguageModelToolCallPart) {
                    hasCalls = true;
                    await say({ requestId, type: "toolCall", callId: part.callId, name: part.name, arguments: { ...part.input } });
                }
            }
        } catch (error) {
            return token.isCancellationRequested ? failed("other", REQUEST_CANCELLED) : failed(kindOf(error));
        }
        return token.isCancellationRequested ? failed("other", REQUEST_CANCELLED) : { stopReason: hasCalls ? "toolCalls" : "end" };
    }

    /** VS Code knows no system role, and wants all results of an answer's calls in the user's message behind it. */
    private messages({ system, messages }: AskEditorModelParams): vscode.LanguageModelChatMessage[] {
        const { LanguageModelChatMessage: Message } = this.api;
        const found = system.trim() === "" ? [] : [Message.User(system)];
        let before: EditorModelMessage["role"] | undefined;
        for (const { role, parts } of messages) {
            const last = found.at(-1);
            if (role === "assistant") {
                found.push(Message.Assistant(parts.map((part) => (part.type === "toolCall" ? this.call(part) : this.text(part)))));
            } else if (role === "tool" && before === "tool" && last !== undefined) {
                last.content.push(...parts.map((part) => this.result(part)));
            } else {
                found.push(Message.User(parts.map((part) => (part.type === "toolResult" ? this.result(part) : this.text(part)))));
            }
            before = role;
        }
        return found;
    }

    private text({ text = "" }: EditorModelPart): vscode.LanguageModelTextPart {
        return new this.api.LanguageModelTextPart(text);
    }

    private call({ callId = "", name = "", arguments: given = {} }: EditorModelPart): vscode.LanguageModelToolCallPart {
        return new this.api.LanguageModelToolCallPart(callId, name, given);
    }

    private result(part: EditorModelPart): vscode.LanguageModelToolResultPart {
        return new this.api.LanguageModelToolResultPart(part.callId ?? "", [this.text(part)]);
    }
}

function options({ tools }: AskEditorModelParams): vscode.LanguageModelChatRequestOptions {
    return {
        justification: PARTICIPANT.justification,
        ...(tools === undefined ? {} : { tools: tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })) }),
    };
}

function failed(kind: EditorModelErrorKind, code = REQUEST_FAILED): ResponseError<EditorModelErrorData> {
    return new ResponseError(code, PARTICIPANT.failed, { kind });
}

/** Codes are VS Code's; names are what Copilot Chat gives its errors, read in its source, 2026-11. */
const KINDS: Readonly<Record<string, EditorModelErrorKind>> = {
    NoPermissions: "noPermission",
    Blocked: "blocked",
    NotFound: "notFound",
    ChatQuotaExceeded: "quota",
    ChatRateLimited: "blocked",
};

function kindOf(error: unknown): EditorModelErrorKind {
    const { code, name, message, cause } = (typeof error === "object" && error !== null ? error : {}) as Record<"code" | "name" | "message" | "cause", unknown>;
    for (const word of [code, name]) {
        const kind = typeof word === "string" && Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
        if (kind !== undefined) {
            return kind;
        }
    }
    if (typeof message === "string" && /exceeds (?:the )?token limit/i.test(message)) {
        return "tooLong";
    }
    return cause === undefined ? "other" : kindOf(cause);
}
