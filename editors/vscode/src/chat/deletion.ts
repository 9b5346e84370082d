/** Deleting a conversation for good: what would go is told first, and somebody has to say so. */
import type { FromHost } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";

export class Deletion {
    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
    ) {}

    async plan(conversationId: string): Promise<void> {
        this.tell({ type: "deletion", conversationId, plan: await this.server.request(p.ConversationPurgePlanRequest, { conversationId }) });
    }

    /** Its words are deleted. What is left of it, ids and times, is archived. `close`: once it is gone, before the list is shown. */
    async carryOut(conversationId: string, close: () => void): Promise<void> {
        await this.server.request(p.ConversationPurgeRequest, { conversationId, confirm: true });
        await this.server.request(p.ConversationArchiveRequest, { conversationId, isArchived: true });
        close();
        this.tell({ type: "deletion", conversationId });
        this.tell({ type: "show", page: "conversations" });
    }
}
