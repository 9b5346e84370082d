/** Sharing in the panel: what it would mean, who reads and who writes, and going on in a fork. */
import type { FromHost } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";
import { SHARING } from "../texts";
import type { Desk } from "./desk";

export class Sharing {
    private hub: p.HubStatus | undefined;

    constructor(
        private readonly server: ServerPort,
        private readonly desk: Desk,
        private readonly tell: (message: FromHost) => void,
    ) {}

    /** Tells how the way to the hub is. A server without one has no such method. */
    async show(): Promise<void> {
        this.hubIs(await this.server.request(p.HubStatusRequest, {}).catch(() => undefined));
    }

    hubIs(status: p.HubStatus | undefined): void {
        this.hub = status;
        if (status !== undefined) {
            this.tell({ type: "hub", status });
        }
    }

    /** What sharing the conversation would mean, to be read before. */
    async plan(conversationId: string): Promise<void> {
        this.tell({ type: "sharePlan", conversationId, plan: await this.server.request(p.ConversationShareRequest, { conversationId }) });
    }

    /** Shares it, and returns what is shared: the conversation, or its copy. */
    async share(conversationId: string): Promise<string> {
        const done = await this.server.request(p.ConversationShareRequest, { conversationId, confirm: true });
        this.tell({ type: "sharePlan", conversationId });
        const shared = done.conversation?.conversationId ?? conversationId;
        const text = (shared === conversationId ? SHARING.isShared : SHARING.isCopy)(done.team);
        this.tell({ type: "notice", level: "info", text });
        return shared;
    }

    async unshare(conversationId: string): Promise<void> {
        if (await this.desk.confirm(SHARING.stopQuestion, SHARING.stop)) {
            this.tell({ type: "conversation", conversation: await this.server.request(p.ConversationUnshareRequest, { conversationId }) });
        }
    }

    async list(): Promise<void> {
        const { team, conversations } = await this.server.request(p.ConversationListSharedRequest, {});
        this.tell({ type: "shared", team, items: conversations });
    }

    /** Takes it in where it is not here yet. */
    async open(conversationId: string): Promise<string> {
        return (await this.server.request(p.ConversationOpenSharedRequest, { conversationId })).conversationId;
    }

    /** Who reads it, and how far each store has come: after a purge, how far that has come. */
    async readers(conversationId: string, isAsked = true): Promise<void> {
        const { members, stores, headSeq } = await this.server.request(p.ConversationMembersRequest, { conversationId });
        this.tell({ type: "readers", conversationId, members, stores, headSeq, isAsked });
    }

    /** A conversation was opened: who reads it stands in its tooltip, as far as the hub answers. */
    async opened(info: p.ConversationInfo | undefined): Promise<void> {
        if (info?.shared !== undefined && info.shared.state !== "detached" && this.hub?.state === "connected") {
            await this.readers(info.conversationId, false).catch(() => undefined);
        }
    }
}
