/** Questions of the server whether a tool may do something: asked in the panel; announced where it is hidden, or is hidden later. */
import * as vscode from "vscode";
import { ResponseError } from "vscode-languageserver-protocol";

import type { ChatController } from "../chat/controller";
import type { ChatPanel } from "../chat/panel";
import type { ApprovalRequestParams, ApprovalRequestResult } from "../protocol.gen";
import { TOASTS } from "../texts";
import { asWords } from "./words";

const SERVER_CANCELLED = -32802;

export async function askApproval(params: ApprovalRequestParams, token: vscode.CancellationToken, panel: ChatPanel, controller: ChatController): Promise<ApprovalRequestResult | ResponseError<void>> {
    const withdrawn = new Promise<void>((resolve) => {
        token.onCancellationRequested(() => {
            resolve();
        });
    });
    const answered = controller.ask(params, withdrawn);
    const announce = () => void vscode.window.showInformationMessage(asWords(TOASTS.asks(params.title)), TOASTS.show).then((choice) => (choice === undefined ? undefined : panel.reveal()));
    const hiding = panel.onHidden(announce);
    if (!panel.isVisible) {
        announce();
    }
    const answer = await answered;
    hiding.dispose();
    return token.isCancellationRequested ? new ResponseError(SERVER_CANCELLED, TOASTS.answeredElsewhere) : { answer };
}
