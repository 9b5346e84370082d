/** A language model of VS Code's that says what it was asked, in the place of Copilot's. As with Copilot's, the user has to allow others to use it. */
"use strict";
const vscode = require("vscode");

const textOf = ({ content }) => content.flatMap((part) => (part instanceof vscode.LanguageModelTextPart ? [part.value] : [])).join("");

exports.activate = (context) => {
    const provider = {
        provideLanguageModelChatInformation: () => [{ id: "one", name: "Scripted One", family: "scripted", version: "1", maxInputTokens: 64_000, maxOutputTokens: 4_000, isUserSelectable: true, requiresAuthorization: true, capabilities: { toolCalling: true } }],
        provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
            for (const word of `Scripted One was asked: ${textOf(messages.at(-1))}`.split(/(?<= )/)) {
                progress.report(new vscode.LanguageModelTextPart(word));
            }
        },
        provideTokenCount: (_model, text) => Math.ceil((typeof text === "string" ? text : textOf(text)).length / 4),
    };
    context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider("scripted", provider));
};
