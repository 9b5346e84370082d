/** A turn for VS Code's own chat: words as they come, cancelled with the request. */
import { randomUUID } from "node:crypto";
import type * as vscode from "vscode";

import type { ServerPort } from "../port";
import { ChatRequest, TurnCancelRequest, type ChatParams, type ChatResult } from "../protocol.gen";

export async function answer(server: ServerPort, params: Omit<ChatParams, "requestId">, token: vscode.CancellationToken, say: (text: string) => void): Promise<ChatResult> {
    const stream = randomUUID();
    let turnId: string | undefined;
    const cancel = () => {
        if (turnId !== undefined) {
            void server.request(TurnCancelRequest, { turnId }).catch(() => undefined);
        }
    };
    const deltas = server.onDelta(stream, (delta) => {
        if (delta.type === "turn") {
            turnId = delta.turnId;
            if (token.isCancellationRequested) {
                cancel();
            }
        } else if (delta.type === "text") {
            say(delta.text ?? "");
        }
    });
    const cancelled = token.onCancellationRequested(cancel);
    try {
        return await server.request(ChatRequest, { ...params, requestId: randomUUID(), partialResultToken: stream });
    } finally {
        deltas.dispose();
        cancelled.dispose();
    }
}
