/** The turn the panel shows while it runs: one at a time, begun here, by another editor, or before the panel was there. */
import { randomUUID } from "node:crypto";
import type { RequestType } from "vscode-languageserver-protocol";

import { applyDelta } from "../live";
import type { FromHost, Live } from "../messages";
import { toFailure, type ServerPort } from "../port";
import * as p from "../protocol.gen";
import { Batches } from "./batches";

/** How often the panel is told of words. Each message to it costs the window more than the words do. */
const WORDS_MS = 66;
const WORDS: ReadonlySet<p.TurnDelta["type"]> = new Set(["text", "thinking", "toolArguments"]);

type Streamed = { partialResultToken?: number | string; workDoneToken?: number | string };

export class RunningTurns {
    /** What is shown of the turn that runs. */
    live: Live | undefined;
    private run = 0;

    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
        /** Called when a turn was admitted, with its conversation, and again when it has ended. */
        private readonly changed: (conversationId: string | undefined, hasEnded: boolean) => Promise<void>,
    ) {}

    /** Nothing that runs is shown any more; it goes on at the server. */
    leave(): void {
        this.run += 1;
        this.live = undefined;
    }

    /** Whether the turn was taken; when not, what was typed belongs back into the composer. */
    chat(params: Omit<p.ChatParams, "requestId">, nextMessage: number): Promise<boolean> {
        const live = { question: params.text, fromMessage: nextMessage, seq: -1, parts: [] };
        return this.follow(p.ChatRequest, { ...params, requestId: randomUUID() }, live);
    }

    /** `report`: told what became of the files whose edits were taken back before. */
    goOn(type: typeof p.TurnContinueRequest, params: p.GoOnParams, nextMessage: number, report?: (files: p.UndoneFile[] | undefined) => void): Promise<boolean> {
        return this.follow(type, params, { fromMessage: nextMessage, seq: -1, parts: [] }, report);
    }

    resolve(params: p.ResolveParams, nextMessage: number): Promise<boolean> {
        return this.follow(p.RecoveryResolveRequest, params, { fromMessage: nextMessage, seq: -1, parts: [] });
    }

    /** A turn that runs already: its words so far, then what comes. */
    attach(running: p.RunningTurn, nextMessage: number): Promise<boolean> {
        const parts: Live["parts"] = running.text === "" ? [] : [{ type: "text", text: running.text }];
        const live = { turnId: running.turnId, fromMessage: nextMessage, seq: running.seq, parts };
        return this.follow(p.TurnAttachRequest, { turnId: running.turnId, afterSeq: running.seq }, live);
    }

    async stop(): Promise<void> {
        if (this.live?.turnId !== undefined) {
            await this.server.request(p.TurnCancelRequest, { turnId: this.live.turnId });
        }
    }

    async retryNow(): Promise<void> {
        if (this.live?.turnId !== undefined) {
            await this.server.request(p.TurnRetryNowRequest, { turnId: this.live.turnId });
        }
    }

    private async follow<P extends Streamed>(type: RequestType<P, p.ChatResult, void>, params: P, live: Live, report?: (files: p.UndoneFile[] | undefined) => void): Promise<boolean> {
        const run = ++this.run;
        const isShown = () => this.run === run;
        const token = randomUUID();
        const work = randomUUID();
        let conversationId: string | undefined;
        this.live = live;
        this.tell({ type: "live", live });
        const batches = new Batches<p.TurnDelta>(WORDS_MS, (waiting) => {
            if (isShown()) {
                this.tell({ type: "deltas", deltas: waiting });
            }
        });
        const deltas = this.server.onDelta(token, (delta) => {
            if (!isShown() || this.live === undefined) {
                return;
            }
            this.live = applyDelta(this.live, delta);
            batches.add(delta);
            if (!WORDS.has(delta.type)) {
                batches.flush();
            }
            if (delta.type === "turn") {
                conversationId = delta.conversationId;
                void this.changed(conversationId, false);
            }
        });
        const works = this.server.onWork(work, (text) => {
            if (isShown()) {
                this.tell({ type: "progress", text });
            }
        });
        try {
            const withTokens = { ...params, partialResultToken: token, ...(type.method === p.TurnAttachRequest.method ? {} : { workDoneToken: work }) };
            const result = await this.server.request(type, withTokens);
            batches.flush();
            report?.(result.files);
            if (isShown()) {
                this.live = undefined;
                await this.changed(result.conversationId, true);
                const reason = result.stopReason === undefined ? {} : { stopReason: result.stopReason };
                this.tell({ type: "ended", status: result.status, turnId: result.turnId, ...reason });
                this.tell({ type: "usage", usage: result.usage });
            }
            return true;
        } catch (error) {
            const wasAdmitted = this.live?.turnId !== undefined;
            batches.flush();
            if (isShown()) {
                const failure = toFailure(error);
                this.live = undefined;
                await this.changed(conversationId, true).catch(() => undefined);
                const forFork = failure.canFork && live.question !== undefined ? { forFork: live.question } : {};
                this.tell({ type: "failed", sentence: failure.sentence, isRetryable: failure.isRetryable, ...forFork, ...(failure.kind === undefined ? {} : { kind: failure.kind }), ...(failure.turnId === undefined ? {} : { turnId: failure.turnId }) });
            }
            return wasAdmitted;
        } finally {
            deltas.dispose();
            works.dispose();
        }
    }
}
