/** The summaries in the context of the open conversation, which its panel shows where their messages were. */
import type { FromHost } from "../messages";
import { isUnknownMethod, type ServerPort } from "../port";
import * as p from "../protocol.gen";

export class Layers {
    private isDue = false;

    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
    ) {}

    /** The context has become smaller, or is about to. */
    expect(): void {
        this.isDue = true;
    }

    /** Reads them when they may have changed. */
    async readIfDue(conversationId: string | undefined): Promise<void> {
        if (this.isDue && conversationId !== undefined) {
            await this.read(conversationId);
        }
    }

    /** Tells nothing to a server that has no list of them. */
    async read(conversationId: string): Promise<void> {
        this.isDue = false;
        try {
            const { summaries } = await this.server.request(p.SummaryListRequest, { conversationId });
            this.tell({ type: "summaries", conversationId, items: summaries });
        } catch (error) {
            if (!isUnknownMethod(error)) {
                throw error;
            }
        }
    }
}
