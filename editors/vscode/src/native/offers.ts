/** Questions of the server that VS Code asks in a notification; one that the panel shows on a card is not asked twice. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { MessageType, ShowMessageRequest, type MessageActionItem, type ShowMessageRequestParams } from "vscode-languageserver-protocol";

import { isOffer } from "../chat/offers";

/** `isShown`: whether the panel can be seen. No answer chooses nothing: the card stays. */
export function askQuietly(client: LanguageClient, isShown: () => boolean): void {
    client.onRequest(ShowMessageRequest.method, async (params: ShowMessageRequestParams): Promise<MessageActionItem | null> => {
        if (isOffer(params) && isShown()) {
            return null;
        }
        const { showErrorMessage, showWarningMessage, showInformationMessage } = vscode.window;
        const show = params.type === MessageType.Error ? showErrorMessage : params.type === MessageType.Warning ? showWarningMessage : showInformationMessage;
        return (await show(params.message, ...(params.actions ?? []))) ?? null;
    });
}
