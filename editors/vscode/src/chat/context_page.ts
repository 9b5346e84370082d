/** What the explain view is told: the next request and its reasons, what has changed it, and changes that are asked for. */
import { randomUUID } from "node:crypto";

import type { ContextEventLine, FromHost, FromView } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";
import { CONTEXT } from "../texts";
import type { CostFigures } from "./costs";
import { describeEvent, describeProgress } from "./events";
import type { Layers } from "./layers";

const MOST_EVENTS = 200;

type Change = Extract<FromView, { type: "summarize" | "expand" | "regenerate" | "undo" | "redo" }>;

export class ContextPage {
    private readonly events = new Map<string, ContextEventLine[]>();
    /** The conversation whose context is being changed from here: its progress is shown. */
    private changing: string | undefined;

    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
        private readonly layers: Layers,
        private readonly costs: CostFigures,
    ) {}

    heard(event: p.ContextEvent): void {
        const line = describeEvent(event);
        if (line !== undefined) {
            const lines = this.events.get(event.conversationId) ?? [];
            this.events.set(event.conversationId, [...lines, line].slice(-MOST_EVENTS));
        }
        const progress = describeProgress(event);
        if (progress !== undefined && event.conversationId === this.changing) {
            this.tell({ type: "progress", text: progress });
        }
    }

    async explain(conversationId: string | undefined): Promise<void> {
        if (conversationId === undefined) {
            return this.note(CONTEXT.nothingToShow);
        }
        this.tell({ type: "show", page: "context" });
        await this.read(conversationId);
    }

    /** Changes which summaries stand in the context. No message and no summary is lost by it. */
    async change(message: Change, conversationId: string | undefined): Promise<void> {
        if (conversationId === undefined) {
            return this.note(CONTEXT.nothingToShow);
        }
        const done = await this.whileChanging(conversationId, () => this.ask(message, conversationId));
        const { tokensBefore: was, tokensAfter: is } = done;
        this.note(was === is ? done.reason : `${done.reason} ${was.toLocaleString("en")} to ${is.toLocaleString("en")} tokens.`);
        await this.read(conversationId);
    }

    /** Shows the progress of summaries while `work` goes on. */
    async whileChanging<T>(conversationId: string | undefined, work: () => Promise<T>): Promise<T> {
        this.changing = conversationId;
        this.tell({ type: "progress", text: CONTEXT.changing });
        try {
            return await work();
        } finally {
            this.changing = undefined;
            this.tell({ type: "progress", text: "" });
        }
    }

    private async ask(message: Change, conversationId: string): Promise<{ tokensBefore: number; tokensAfter: number; reason: string }> {
        switch (message.type) {
            case "summarize": {
                const workDoneToken = randomUUID();
                const work = this.server.onWork(workDoneToken, (text) => {
                    this.tell({ type: "progress", text });
                });
                try {
                    const range = message.upTo === undefined ? {} : { range: { start: 0, end: message.upTo + 1 } };
                    return await this.server.request(p.SummarizeRequest, { conversationId, workDoneToken, ...range });
                } finally {
                    work.dispose();
                }
            }
            case "expand":
                return this.server.request(p.SummaryExpandRequest, { conversationId, summaryId: message.summaryId });
            case "regenerate":
                return this.server.request(p.SummaryRegenerateRequest, { conversationId, summaryId: message.summaryId });
            case "undo":
                return this.server.request(p.SummaryUndoRequest, { conversationId });
            case "redo":
                return this.server.request(p.SummaryRedoRequest, { conversationId });
        }
    }

    private async read(conversationId: string): Promise<void> {
        const [plan, usage, stats] = await Promise.all([
            this.server.request(p.PrepareContextRequest, { conversationId, withPage: true }),
            this.server.request(p.UsageRequest, { conversationId }),
            this.server.request(p.StatsRequest, { conversationId }),
            this.layers.read(conversationId),
        ]);
        this.tell({ type: "context", plan, usage, stats, events: this.events.get(conversationId) ?? [] });
        await this.costs.read(conversationId);
    }

    private note(text: string): void {
        this.tell({ type: "notice", level: "info", text });
    }
}
