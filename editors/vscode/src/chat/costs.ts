/** What the panel is told of what models cost. Figures that stand beside something: where they cannot be had, they are left out. */
import type { FromHost } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";

export class CostFigures {
    constructor(
        private readonly server: ServerPort,
        private readonly tell: (message: FromHost) => void,
    ) {}

    async read(conversationId: string | undefined, turnId?: string): Promise<void> {
        const of = { ...(conversationId === undefined ? {} : { conversationId }), ...(turnId === undefined ? {} : { turnId }) };
        const costs = await this.server.request(p.CostsRequest, of).catch(() => undefined);
        if (costs !== undefined) {
            this.tell({ type: "costs", ...of, costs });
        }
    }
}
