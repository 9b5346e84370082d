/** Which model answers: whether there is one at all, and the choice of another. */
import type { FromHost, FromView } from "../messages";
import { defaultOf, isSetUp } from "../native/model_list";
import { isUnknownMethod, type ServerPort } from "../port";
import * as p from "../protocol.gen";
import type { Desk } from "./desk";

export class ModelChoice {
    constructor(
        private readonly server: ServerPort,
        private readonly desk: Desk,
        private readonly tell: (message: FromHost) => void,
        private readonly open: (conversationId: string) => Promise<void>,
    ) {}

    /** Says whether a model is set up; until one is, the panel offers that. */
    async look(): Promise<void> {
        try {
            const { models } = await this.server.request(p.ModelListRequest, {});
            const name = defaultOf(models);
            this.tell({ type: "models", isSetUp: isSetUp(models), ...(name === undefined ? {} : { default: name }) });
        } catch (error) {
            if (!isUnknownMethod(error)) {
                throw error;
            }
        }
    }

    /** Sets a model up first, where that is asked; then one is chosen from the list. The composer has the focus again. */
    async handle(message: Extract<FromView, { type: "pickModel" | "setUp" | "goOnWith" }>, conversation: p.ConversationInfo | undefined): Promise<void> {
        try {
            if (message.type === "goOnWith") {
                await this.switchTo(message.model, conversation);
            } else if (message.type === "pickModel" || (await this.desk.setUp(message.service))) {
                await this.pick(conversation);
            }
            await this.look();
        } finally {
            this.tell({ type: "focus" });
        }
    }

    private async pick(conversation: p.ConversationInfo | undefined): Promise<void> {
        const { models } = await this.server.request(p.ModelListRequest, {});
        const used = conversation === undefined ? 0 : (await this.server.request(p.UsageRequest, { conversationId: conversation.conversationId })).usedTokens;
        const current = conversation?.model ?? models.find((each) => each.isDefault)?.name;
        const model = await this.desk.pickModel(models, current, used);
        if (model !== undefined) {
            await this.switchTo(model, conversation);
        }
    }

    private async switchTo(model: string, conversation: p.ConversationInfo | undefined): Promise<void> {
        const conversationId = conversation?.conversationId ?? (await this.server.request(p.ConversationCreateRequest, { model })).conversationId;
        await this.server.request(p.ModelSwitchRequest, { conversationId, model });
        await this.open(conversationId);
    }
}
