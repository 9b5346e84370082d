/** A server of Palimpsest as the panel needs it. The language client is one; tests have another. */
import type { RequestType } from "vscode-languageserver-protocol";

import type { TurnDelta } from "./protocol.gen";
import { FAILED_SOMEHOW } from "./texts";

export interface Disposable {
    dispose(): unknown;
}

export interface ServerPort {
    request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R>;
    /** What comes as `$/progress` on the token, until it is disposed of. */
    onDelta(token: string, handler: (delta: TurnDelta) => void): Disposable;
    /** What a work-done progress says, a sentence each; empty when it ends. */
    onWork(token: string, handler: (sentence: string) => void): Disposable;
}

/** What an error of the server tells the user, and what else it holds. */
export interface Failure {
    readonly sentence: string;
    readonly turnId?: string;
    readonly isRetryable: boolean;
    readonly code?: number;
    /** Whether the same can be done in a fork at once. */
    readonly canFork: boolean;
    /** Whether the server lacks an extra that it takes. */
    readonly lacksExtra: boolean;
    /** Its kind, as the server names it. */
    readonly kind?: string;
}

const METHOD_NOT_FOUND = -32601;

export function toFailure(error: unknown): Failure {
    const value = typeof error === "object" && error !== null ? (error as { message?: unknown; code?: unknown; data?: { turnId?: unknown; retryable?: unknown; canFork?: unknown; kind?: unknown; missingExtra?: unknown } }) : {};
    return {
        sentence: typeof value.message === "string" && value.message !== "" ? value.message : FAILED_SOMEHOW,
        isRetryable: value.data?.retryable === true,
        canFork: value.data?.canFork === true,
        lacksExtra: typeof value.data?.missingExtra === "string",
        ...(typeof value.data?.kind === "string" ? { kind: value.data.kind } : {}),
        ...(typeof value.data?.turnId === "string" ? { turnId: value.data.turnId } : {}),
        ...(typeof value.code === "number" ? { code: value.code } : {}),
    };
}

export function isUnknownMethod(error: unknown): boolean {
    return toFailure(error).code === METHOD_NOT_FOUND;
}
