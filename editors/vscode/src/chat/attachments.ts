/** What will go with the next message. The panel sees labels and costs; paths and texts stay here. */
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
    private items: Item[] = [];
    private counter = 0;

    constructor(
        private readonly server: ServerPort,
        private readonly tell: (chips: Chip[]) => void,
    ) {}

    /** Adds them and asks what they would cost. The same thing is attached once. */
    async add(attachments: readonly Attachment[], conversationId: string | undefined, thumbnail?: string): Promise<void> {
        for (const attachment of attachments) {
            const key = keyOf({ attachment });
            if (!this.items.some((each) => keyOf(each) === key)) {
                const id = `a${++this.counter}`;
                const label = attachment.path ?? attachment.name ?? attachment.type;
                this.items.push({ id, attachment, chip: { id, label, tokens: 0, isSelection: attachment.type === "selection", ...(thumbnail === undefined ? {} : { thumbnail }) } });
            }
        }
        this.show();
        await this.estimate(conversationId);
    }

    remove(id: string): void {
        this.items = this.items.filter((each) => each.id !== id);
        this.show();
    }

    /** All of them, which go with a message. What is added from now on goes with the next one. */
    take(): Item[] {
        const taken = this.items;
        this.items = [];
        this.show();
        return taken;
    }

    /** Those of a message that was not sent, before what was added since. */
    giveBack(taken: readonly Item[]): void {
        const known = new Set(taken.map(keyOf));
        this.items = [...taken, ...this.items.filter((each) => !known.has(keyOf(each)))];
        this.show();
    }

    show(): void {
        this.tell(this.items.map((each) => each.chip));
    }

    private async estimate(conversationId: string | undefined): Promise<void> {
        const asked = [...this.items];
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
