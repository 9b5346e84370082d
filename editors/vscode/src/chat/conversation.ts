/** The conversation the panel shows: opened, read by pages, and read again when it changed. */
import type { FromHost } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";
import type { RunningTurns } from "./turns";

const PAGE = 100;

export class OpenConversation {
    info: p.ConversationInfo | undefined;
    /** One more than the last message's id. */
    total = 0;
    private opening = 0;
    private seq = -1;

    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
    ) {}

    get id(): string | undefined {
        return this.info?.conversationId;
    }

    /** Nothing is open: the next message begins a conversation. `draft`: what is typed of it. */
    close(draft: string): void {
        this.opening += 1;
        this.info = undefined;
        this.total = 0;
        this.tell({ type: "opened", total: 0, messages: [], draft });
        void this.tellUsage(undefined).catch(() => undefined); // a ring that is missing hinders nobody
    }

    /** Shows its newest messages; `showMessage` and those around it where one is named. */
    async open(conversationId: string, turns: RunningTurns, showMessage?: number): Promise<void> {
        const opening = ++this.opening;
        const head = await this.server.request(p.ConversationReadRequest, { conversationId, start: 0, limit: 1 });
        const end = await this.readEnd(conversationId, head.conversation.messageCount);
        const near = showMessage === undefined ? [] : await this.read(conversationId, Math.max(0, showMessage - PAGE / 2));
        if (opening !== this.opening) {
            return;
        }
        this.info = end.conversation;
        this.total = (end.messages.at(-1)?.id ?? -1) + 1;
        this.seq = -1;
        const messages = [...near, ...end.messages];
        this.tell({ type: "opened", conversation: end.conversation, total: this.total, messages, ...(showMessage === undefined ? {} : { showMessage }) });
        if (turns.live !== undefined && turns.live.turnId === end.running?.turnId) {
            this.tell({ type: "live", live: turns.live });
        } else if (end.running !== undefined) {
            void turns.attach(end.running, this.total);
        }
        await this.tellUsage(conversationId);
    }

    /** How full its context is, or would be before the first message; nothing when another one is shown by then. */
    async tellUsage(conversationId: string | undefined): Promise<void> {
        const usage = await this.server.request(p.UsageRequest, conversationId === undefined ? {} : { conversationId });
        if (conversationId === this.id) {
            this.tell({ type: "usage", usage });
        }
    }

    async readPage(conversationId: string, start: number): Promise<void> {
        if (conversationId === this.id) {
            const messages = await this.read(conversationId, start);
            this.tell({ type: "page", conversationId, total: Math.max(this.total, (messages.at(-1)?.id ?? -1) + 1), messages });
        }
    }

    /** Somebody changed it. A notification that was overtaken by a later one says nothing. */
    async changed(conversationId: string, seq: number, turns: RunningTurns): Promise<void> {
        if (conversationId === this.id && seq > this.seq) {
            this.seq = seq;
            await this.reread(conversationId, turns);
        }
    }

    /** Its end as it is now. What a running turn has stored is told with the turn. */
    async reread(conversationId: string, turns: RunningTurns): Promise<void> {
        const end = await this.readEnd(conversationId, this.total);
        if (this.id !== undefined && this.id !== conversationId) {
            return;
        }
        this.info = end.conversation;
        this.total = Math.max(this.total, (end.messages.at(-1)?.id ?? -1) + 1);
        this.tell({ type: "conversation", conversation: end.conversation });
        this.tell({ type: "page", conversationId, total: this.total, messages: end.messages });
        if (end.running !== undefined && turns.live === undefined) {
            void turns.attach(end.running, this.total);
        }
    }

    private async read(conversationId: string, start: number): Promise<p.MessageInfo[]> {
        return (await this.server.request(p.ConversationReadRequest, { conversationId, start, limit: PAGE })).messages;
    }

    /** The last messages. The count may be behind by the time it is used: there may be more pages. */
    private async readEnd(conversationId: string, count: number): Promise<p.ReadConversationResult> {
        let result = await this.server.request(p.ConversationReadRequest, { conversationId, start: Math.max(0, count - PAGE), limit: PAGE * 2 });
        const messages = [...result.messages];
        while (result.next !== undefined) {
            result = await this.server.request(p.ConversationReadRequest, { conversationId, start: result.next, limit: PAGE * 2 });
            messages.push(...result.messages);
        }
        return { ...result, messages: messages.slice(-PAGE * 2) };
    }
}
