/** What will go with the next message of each conversation. The panel sees labels and costs; paths and texts stay here. */
import type { Chip } from "../messages";
import type { ServerPort } from "../port";
import { AttachmentsEstimateRequest, type Attachment } from "../protocol.gen";

interface Item {
    readonly id: string;
    readonly attachment: Attachment;
    chip: Chip;
}

const keyOf = ({ attachment }: Pick<Item, "attachment">): string => JSON.stringify(attachment);

export class Attachments {
    /** By conversation; undefined: the one that begins with the next message. */
    private readonly of = new Map<string | undefined, readonly Item[]>();
    private counter = 0;

    /** `current`: the conversation that the panel shows. */
    constructor(
        private readonly server: ServerPort,
        private readonly current: () => string | undefined,
        private readonly tell: (chips: Chip[]) => void,
    ) {}

    /** Adds them to the conversation that is shown and asks what they would cost. The same thing is attached once. */
    async add(attachments: readonly Attachment[], thumbnail?: string): Promise<void> {
        const conversationId = this.current();
        this.set(conversationId, [...this.items(conversationId), ...this.made(attachments, thumbnail)]);
        await this.estimate(conversationId);
    }

    /** What goes with a message that is sent at once. */
    made(attachments: readonly Attachment[], thumbnail?: string): Item[] {
        return attachments.map((attachment) => {
            const id = `a${++this.counter}`;
            const label = attachment.path ?? attachment.name ?? attachment.type;
            return { id, attachment, chip: { id, label, tokens: 0, isSelection: attachment.type === "selection", ...(thumbnail === undefined ? {} : { thumbnail }) } };
        });
    }

    remove(id: string): void {
        this.set(this.current(), this.items(this.current()).filter((each) => each.id !== id));
    }

    /** All of the conversation that is shown, which go with a message. What is added from now on goes with the next one. */
    take(): readonly Item[] {
        const taken = this.items(this.current());
        this.set(this.current(), []);
        return taken;
    }

    /** The conversation that began with a message: what was added since goes with its next one. */
    begun(conversationId: string): void {
        const waiting = this.items(undefined);
        this.of.delete(undefined);
        this.set(conversationId, [...this.items(conversationId), ...waiting]);
    }

    /** Those of a message that was not sent, before what was added since. */
    giveBack(taken: readonly Item[], conversationId: string | undefined): void {
        this.set(conversationId, [...taken, ...this.items(conversationId)]);
    }

    show(): void {
        this.tell(this.items(this.current()).map((each) => each.chip));
    }

    private items(conversationId: string | undefined): readonly Item[] {
        return this.of.get(conversationId) ?? [];
    }

    private set(conversationId: string | undefined, items: readonly Item[]): void {
        const keys = items.map(keyOf);
        this.of.set(conversationId, items.filter((each, index) => keys.indexOf(keyOf(each)) === index));
        this.show();
    }

    private async estimate(conversationId: string | undefined): Promise<void> {
        const asked = this.items(conversationId);
        if (asked.length === 0) {
            return;
        }
        const params = { attachments: asked.map((each) => each.attachment), ...(conversationId === undefined ? {} : { conversationId }) };
        const { attachments } = await this.server.request(AttachmentsEstimateRequest, params);
        for (const [index, each] of asked.entries()) {
            const found = attachments[index];
            if (found !== undefined) {
                const problem = found.problem ?? found.leftOut?.join(" ");
                each.chip = { ...each.chip, label: found.label, tokens: found.tokens, ...(problem === undefined ? {} : { problem }) };
            }
        }
        this.show();
    }
}
