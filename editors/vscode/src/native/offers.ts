/** What the server says and asks in a notification; a question that the panel shows on a card is not asked twice. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { MessageType, ShowMessageNotification, ShowMessageRequest, type MessageActionItem, type ShowMessageParams, type ShowMessageRequestParams } from "vscode-languageserver-protocol";

import { isOffer } from "../chat/offers";
import { asWords } from "./words";

/** `isShown`: whether the panel can be seen. No answer chooses nothing: the card stays. */
export function askQuietly(client: LanguageClient, isShown: () => boolean): void {
    client.onRequest(ShowMessageRequest.method, async (params: ShowMessageRequestParams): Promise<MessageActionItem | null> => {
        if (isOffer(params) && isShown()) {
            return null;
        }
        return (await show(params, params.actions)) ?? null;
    });
    client.onNotification(ShowMessageNotification.method, (params: ShowMessageParams) => void show(params));
}

function show({ type, message }: ShowMessageParams, actions: readonly MessageActionItem[] = []): Thenable<MessageActionItem | undefined> {
    const { showErrorMessage, showWarningMessage, showInformationMessage } = vscode.window;
    const said = type === MessageType.Error ? showErrorMessage : type === MessageType.Warning ? showWarningMessage : showInformationMessage;
    return said(asWords(message), ...actions);
}
