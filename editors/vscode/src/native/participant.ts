/** `@palimpsest` in VS Code's Chat view, and the model it needs: VS Code calls no participant while there is no model. */
import * as vscode from "vscode";

import { toFailure, type ServerPort } from "../port";
import { ConversationArchiveRequest, ConversationCreateRequest, ModelListRequest } from "../protocol.gen";
import { answer } from "./answering";
import { isSetUp } from "./model_list";
import { KEYS, PARTICIPANT } from "../texts";

/** PROTOCOL.md gives no estimate for a text alone; this only tells VS Code how much it may send. */
const CHARACTERS_PER_TOKEN = 4;

/** `changed`: other models may be there now. */
export function registerParticipant(context: vscode.ExtensionContext, server: ServerPort & { whenReady(): Promise<void> }, changed: vscode.Event<void>): void {
    const participant = vscode.chat.createChatParticipant("palimpsest.participant", async (request, { history }, stream, token) => {
        const before = history.findLast((turn): turn is vscode.ChatResponseTurn => turn instanceof vscode.ChatResponseTurn);
        const conversationId: unknown = before?.result.metadata?.["conversationId"];
        const folder = vscode.workspace.workspaceFolders?.[0]?.uri.toString();
        const where = typeof conversationId === "string" ? { conversationId } : folder === undefined ? {} : { folder };
        try {
            await server.whenReady();
            const result = await answer(server, { text: request.prompt, ...where }, token, (text) => {
                stream.markdown(text);
            });
            if (!isSetUp((await server.request(ModelListRequest, {})).models)) {
                stream.button({ command: "palimpsest.setKey", title: KEYS.add });
            }
            return { metadata: { conversationId: result.conversationId } };
        } catch (error) {
            return { errorDetails: { message: toFailure(error).sentence }, metadata: typeof conversationId === "string" ? { conversationId } : {} };
        }
    });
    participant.iconPath = vscode.Uri.joinPath(context.extensionUri, "media", "icon.png");
    context.subscriptions.push(participant, vscode.lm.registerLanguageModelChatProvider("palimpsest", new Models(server, changed)));
}

/** The default model of the server, for whatever asks VS Code for a model. Each request is a conversation that is put away. */
class Models implements vscode.LanguageModelChatProvider {
    constructor(
        private readonly server: ServerPort,
        readonly onDidChangeLanguageModelChatInformation: vscode.Event<void>,
    ) {}

    async provideLanguageModelChatInformation(): Promise<vscode.LanguageModelChatInformation[]> {
        const fallback = { name: "offline", windowTokens: 8_000, maxOutputTokens: 1_000 };
        const model = await this.server.request(ModelListRequest, {}).then(
            ({ models }) => models.find((each) => each.isDefault) ?? models[0] ?? fallback,
            () => fallback,
        );
        const limits = { maxInputTokens: model.windowTokens, maxOutputTokens: model.maxOutputTokens };
        // VS Code's Chat view calls a participant only while a model can be chosen there, in its agent mode only one that takes
        // tools. The types do not name the two fields. Tools of others are not called: the server has its own.
        const chosen = { isDefault: true, isUserSelectable: true };
        return [{ id: "palimpsest", name: PARTICIPANT.model(model.name), family: "palimpsest", version: "1", ...limits, ...chosen, capabilities: { toolCalling: true } }];
    }

    async provideLanguageModelChatResponse(
        _model: vscode.LanguageModelChatInformation,
        messages: readonly vscode.LanguageModelChatRequestMessage[],
        _options: vscode.ProvideLanguageModelChatResponseOptions,
        progress: vscode.Progress<vscode.LanguageModelResponsePart>,
        token: vscode.CancellationToken,
    ): Promise<void> {
        const text = messages.map((message) => textOf(message.content)).filter((each) => each !== "").join("\n\n");
        const { conversationId } = await this.server.request(ConversationCreateRequest, { title: PARTICIPANT.asked });
        try {
            await answer(this.server, { text, conversationId }, token, (piece) => {
                progress.report(new vscode.LanguageModelTextPart(piece));
            });
        } finally {
            await this.server.request(ConversationArchiveRequest, { conversationId, isArchived: true });
        }
    }

    provideTokenCount(_model: vscode.LanguageModelChatInformation, text: string | vscode.LanguageModelChatRequestMessage): Promise<number> {
        return Promise.resolve(Math.ceil((typeof text === "string" ? text : textOf(text.content)).length / CHARACTERS_PER_TOKEN));
    }
}

function textOf(content: readonly unknown[]): string {
    return content.flatMap((part) => (part instanceof vscode.LanguageModelTextPart ? [part.value] : [])).join("");
}
