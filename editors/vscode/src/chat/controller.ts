/**
 * What happens when somebody does something in the panel: one request of the protocol each, and what the panel is told of
 * it. Nothing is decided here that another editor could decide otherwise.
 */
import type { FromHost, FromView } from "../messages";
import { toFailure, type ServerPort } from "../port";
import * as p from "../protocol.gen";
import { COMPOSER, HISTORY, SHARING, START } from "../texts";
import { Attachments } from "./attachments";
import { attachedTo } from "./attached";
import { ContextPage } from "./context_page";
import { CostFigures } from "./costs";
import { Deletion } from "./deletion";
import { FactsPage } from "./facts_page";
import { FileChanges } from "./file_changes";
import { Layers } from "./layers";
import { OpenConversation } from "./conversation";
import { ModelChoice } from "./model_choice";
import type { Desk } from "./desk";
import { Questions } from "./questions";
import { Sharing } from "./sharing";
import { RunningTurns } from "./turns";

/** PROTOCOL.md, `command/run`. */
const COMMAND = /^\/[A-Za-z][\w-]*(:\S+)?(\s|$)/;

/** A file by where the server finds it: the explorer of a window that works on another machine names that as well. */
const onItsMachine = (uri: string): string => uri.replace(/^vscode-remote:\/\/[^/]*/, "file://");

const behind = (draft: string, text: string): string => [draft, text].filter((each) => each !== "").join("\n\n");

export class ChatController {
    private readonly turns: RunningTurns;
    private readonly conversation: OpenConversation;
    private readonly attachments: Attachments;
    private readonly context: ContextPage;
    private readonly costs: CostFigures;
    private readonly questions: Questions;
    private readonly sharing: Sharing;
    private readonly models: ModelChoice;
    private readonly layers: Layers;
    private readonly facts: FactsPage;
    private readonly deletion: Deletion;
    private readonly fileChanges: FileChanges;
    private phase: Extract<FromHost, { type: "server" }> = { type: "server", phase: "starting", sentence: START.starting };

    constructor(
        private readonly server: ServerPort,
        private readonly desk: Desk,
        private readonly tell: (message: FromHost) => void,
    ) {
        this.conversation = new OpenConversation(server, (message) => {
            tell(message);
            if (message.type === "opened") {
                this.attachments.show();
            }
        });
        this.attachments = new Attachments(server, () => this.conversation.id, (chips) => {
            tell({ type: "chips", chips });
        });
        this.layers = new Layers(server, tell);
        this.costs = new CostFigures(server, tell);
        this.context = new ContextPage(server, tell, this.layers, this.costs);
        this.questions = new Questions(tell);
        this.sharing = new Sharing(server, desk, tell);
        this.models = new ModelChoice(server, desk, tell, (id) => this.open(id));
        this.facts = new FactsPage(server, desk, tell);
        this.deletion = new Deletion(server, tell);
        this.fileChanges = new FileChanges(server, desk, tell);
        this.turns = new RunningTurns(server, tell, (conversationId, hasEnded) => this.turnChanged(conversationId, hasEnded));
    }

    /** The server has started, stopped, or is about to. */
    async serverIs(phase: "starting" | "ready" | "stopped", sentence: string, needsPython = false): Promise<void> {
        const was = this.phase.phase;
        if (phase !== "ready") {
            this.questions.withdraw();
        }
        this.phase = { type: "server", phase, sentence, ...(needsPython ? { needsPython } : {}) };
        if (phase === "ready" && was !== "ready") {
            this.turns.leave();
            return this.showAll();
        }
        this.tell(this.phase);
    }

    /** The panel is ready when it shows what there is: what is said before would be said beside it. */
    private async showAll(): Promise<void> {
        await this.guard(() => this.show());
        this.tell(this.phase); // Which may be another one by now.
    }

    /** Whatever goes wrong is told; nothing that was typed is lost by it. */
    async handle(message: FromView): Promise<void> {
        await this.guard(() => this.act(message));
    }

    heard(event: p.ContextEvent): void {
        this.context.heard(event);
        if (event.type === "context_compaction" && event.conversationId === this.conversation.id) {
            this.layers.expect();
        }
        if (event.type === "context_budget" && event.error !== undefined) {
            this.tell({ type: "notice", level: "warning", text: event.error, about: "budget" });
        }
    }

    async factsChanged(params: p.FactsChangedParams): Promise<void> {
        await this.guard(() => this.facts.changed(params));
    }

    async conversationChanged(params: p.ConversationChangedParams): Promise<void> {
        await this.guard(async () => {
            await this.conversation.changed(params.conversationId, params.seq, this.turns);
            if (params.conversationId === this.conversation.id) {
                await this.fileChanges.read(this.conversation.id);
            }
        });
    }

    /** The editor shows something else, or other problems. */
    lookAround(): void {
        this.tell({ type: "around", ...this.desk.surroundings() });
    }

    hubChanged(status: p.HubStatus): void {
        this.sharing.hubIs(status);
    }

    /** Somebody else began or ended to write. Their answer is followed where it is shown. */
    async presenceChanged(params: p.PresenceChangedParams): Promise<void> {
        await this.guard(async () => {
            this.tell({ type: "presence", ...params });
            if (params.conversationId === this.conversation.id) {
                await this.conversation.reread(params.conversationId, this.turns);
            }
        });
    }

    usageChanged(params: p.UsageChangedParams): void {
        if (params.conversationId === this.conversation.id) {
            this.tell({ type: "usage", usage: params.usage });
            void this.guard(() => this.layers.readIfDue(this.conversation.id));
        }
    }

    /** Asks in the panel. `withdrawn` resolves when somebody else has answered. */
    ask(request: p.ApprovalRequestParams, withdrawn: Promise<void>): Promise<p.ApprovalAnswer> {
        return this.questions.ask(request, withdrawn);
    }

    private async show(): Promise<void> {
        const { conversations } = await this.server.request(p.ConversationListRequest, {});
        this.tell({ type: "conversations", items: conversations });
        this.lookAround();
        await this.sharing.show();
        await this.models.look();
        this.tell({ type: "recovery", turns: (await this.server.request(p.RecoveryListRequest, {})).turns });
        const wanted = this.conversation.id ?? this.desk.lastConversation;
        const isBegun = wanted === undefined && this.desk.newDraft !== "";
        const known = isBegun ? undefined : (conversations.find((each) => each.conversationId === wanted) ?? conversations.find((each) => !each.isArchived));
        if (known === undefined) {
            this.conversation.close(this.desk.newDraft);
        } else {
            await this.open(known.conversationId);
        }
        this.questions.show();
        await this.facts.count();
    }

    private async open(conversationId: string, messageId?: number): Promise<void> {
        if (conversationId !== this.conversation.id) {
            this.turns.leave();
        }
        this.desk.lastConversation = conversationId;
        await this.conversation.open(conversationId, this.turns, messageId);
        await this.layers.read(conversationId);
        await this.fileChanges.read(conversationId);
        await this.sharing.opened(this.conversation.info);
    }

    /** A conversation with what stands as its draft, to be read over and sent: the composer has the focus. */
    async openDraft(conversationId: string): Promise<void> {
        await this.guard(async () => {
            await this.open(conversationId);
            this.tell({ type: "setDraft", text: this.conversation.info?.draft ?? "" });
            this.tell({ type: "focus" });
        });
    }

    /** Puts a text behind what is typed, to be read over and sent. */
    addDraft(text: string): void {
        this.tell({ type: "addDraft", text });
        this.tell({ type: "focus" });
    }

    private async act(message: FromView): Promise<void> {
        const conversationId = this.conversation.id;
        switch (message.type) {
            case "ready":
                return this.phase.phase === "ready" ? this.showAll() : this.tell(this.phase);
            case "startServer":
                return this.desk.startServer();
            case "showLog":
                return this.desk.showLog();
            case "listConversations":
                return this.list();
            case "search": {
                const { hits } = message.query === "" ? { hits: [] } : await this.server.request(p.ConversationSearchRequest, { query: message.query });
                return this.tell({ type: "hits", query: message.query, hits });
            }
            case "open":
                return this.open(message.conversationId, message.messageId);
            case "newConversation":
                this.turns.leave();
                this.desk.lastConversation = undefined;
                this.conversation.close(this.desk.newDraft);
                return this.tell({ type: "focus" });
            case "rename":
                return this.rename(message.conversationId, message.title);
            case "archive":
                await this.server.request(p.ConversationArchiveRequest, { conversationId: message.conversationId, isArchived: message.isArchived });
                return this.list();
            case "fork": {
                const at = message.messageId === undefined ? {} : { messageId: message.messageId };
                const fork = conversationId === undefined ? undefined : await this.server.request(p.ConversationForkRequest, { conversationId, ...at });
                return fork === undefined ? undefined : this.open(fork.conversationId);
            }
            case "read":
                return this.conversation.readPage(message.conversationId, message.start);
            case "send":
                if (conversationId === undefined) {
                    this.desk.newDraft = message.text;
                }
                return this.orBackToComposer(message.text, () => this.send(message.text));
            case "stop":
                return this.turns.stop();
            case "retryNow":
                return this.turns.retryNow();
            case "continue":
                await this.turns.goOn(p.TurnContinueRequest, { turnId: message.turnId }, this.conversation.total);
                return;
            case "retry":
                await this.turns.goOn(p.TurnRetryRequest, { turnId: message.turnId, ...(message.takeBackChanges === true ? { takeBackChanges: true } : {}) }, this.conversation.total, (files) => this.fileChanges.report(files));
                return;
            case "undoChanges":
            case "reviewChanges":
                return this.fileChanges.handle(message, conversationId);
            case "editAndFork":
                return this.orBackToComposer(message.text, () => this.editAndFork(message.messageId, message.text));
            case "draft":
                if (message.conversationId === undefined) {
                    this.desk.newDraft = message.text;
                } else {
                    await this.server.request(p.DraftSetRequest, { conversationId: message.conversationId, text: message.text });
                }
                return;
            case "complete": {
                const found = await this.server.request(p.MentionsCompleteRequest, { text: message.text, position: message.position, ...this.here() });
                return this.tell({ type: "completions", seq: message.seq, start: found.start, items: found.items });
            }
            case "attachFiles":
                return this.attachments.add(message.uris.map((uri) => ({ type: "file", path: onItsMachine(uri) })));
            case "attachPath":
                return this.attachments.add([{ type: "file", path: message.path }]);
            case "attachSelection": {
                const selection = this.desk.selection();
                return selection === undefined ? this.note(COMPOSER.noSelection) : this.attachments.add([selection]);
            }
            case "attachTerminal":
                return message.text.trim() === ""
                    ? this.note(COMPOSER.noTerminalSelection)
                    : this.attachments.add([{ type: "selection", path: "terminal", text: message.text }]);
            case "attachPicture": {
                const estimated = this.attachments.add([{ type: "image", name: message.name, data: message.data }], message.thumbnail);
                this.tell({ type: "attached" });
                return estimated;
            }
            case "readPicture":
                return this.readPicture(message.digest);
            case "detach":
                return this.attachments.remove(message.id);
            case "copy":
                return this.desk.copy(message.text);
            case "insert":
                return this.desk.insert(message.text);
            case "apply":
                return this.desk.apply(message.text, message.info);
            case "openPath":
                return this.desk.openPath(message.path, message.line);
            case "toTerminal":
                return this.desk.toTerminal(message.text);
            case "openLink":
                return this.desk.openLink(message.href);
            case "approve":
                return this.questions.answer(message.id, message.answer);
            case "recover":
                return this.recover(message);
            case "explain":
                return this.context.explain(conversationId);
            case "costs":
                return this.costs.read(conversationId, message.turnId);
            case "changeBudget":
                return this.desk.openSetting("palimpsest.budget.monthly");
            case "summarize":
            case "expand":
            case "regenerate":
            case "undo":
            case "redo":
                return this.context.change(message, conversationId);
            case "planDeletion":
                return this.deletion.plan(message.conversationId);
            case "deleteForGood":
                await this.deletion.carryOut(message.conversationId, () => {
                    if (message.conversationId === this.conversation.id) {
                        this.conversation.close(this.desk.newDraft);
                    }
                });
                return this.list();
            case "listFacts":
            case "addFact":
            case "openPlace":
            case "fact": {
                const asked = await this.facts.handle(message);
                return asked === undefined ? undefined : this.openDraft(asked);
            }
            case "pickModel":
            case "goOnWith":
            case "setUp":
                await this.models.handle(message, this.conversation.info);
                return this.conversation.id === undefined ? this.conversation.tellUsage(undefined) : undefined;
            case "choosePython":
                return this.desk.choosePython();
            case "share":
                return conversationId === undefined ? this.note(SHARING.nothingToShare) : this.sharing.plan(conversationId);
            case "confirmShare":
                return this.open(await this.sharing.share(message.conversationId));
            case "unshare":
                return conversationId === undefined ? undefined : this.sharing.unshare(conversationId);
            case "listShared":
                return this.sharing.list();
            case "openShared":
                return this.open(await this.sharing.open(message.conversationId));
            case "readers":
                return conversationId === undefined ? undefined : this.sharing.readers(conversationId);
            case "forkAndGoOn":
                return this.orBackToComposer(message.text, () => this.forkAndGoOn(message.text));
        }
    }

    private async list(): Promise<void> {
        this.tell({ type: "conversations", items: (await this.server.request(p.ConversationListRequest, {})).conversations });
    }

    private async rename(conversationId: string, given: string | undefined): Promise<void> {
        const known = given ?? (await this.server.request(p.ConversationListRequest, {})).conversations.find((each) => each.conversationId === conversationId)?.title;
        const title = given ?? (await this.desk.input(HISTORY.name, known ?? ""));
        if (title !== undefined) {
            this.tell({ type: "conversation", conversation: await this.server.request(p.ConversationRenameRequest, { conversationId, title }) });
        }
    }

    /** What could not be said stands in the composer again, behind what was typed since. */
    private async orBackToComposer(text: string, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            this.tell({ type: "addDraft", text });
            throw error;
        }
    }

    /** `attached`: absent, what stands in the composer. */
    private async send(text: string, attached?: ReturnType<Attachments["take"]>): Promise<void> {
        if (COMMAND.test(text)) {
            const run = () => this.server.request(p.CommandRunRequest, { text, ...this.here() });
            const reply = /^\/summarize\b/.test(text) ? await this.context.whileChanging(this.conversation.id, run) : await run();
            if (reply.conversationId !== undefined && reply.conversationId !== this.conversation.id) {
                await this.open(reply.conversationId);
            }
            this.forgetDraft(text);
            await this.layers.readIfDue(this.conversation.id);
            this.tell({ type: "reply", command: text, text: reply.text });
            return reply.draft !== undefined ? this.tell({ type: "setDraft", text: reply.draft }) : undefined;
        }
        const to = this.conversation.id;
        const taken = attached ?? this.attachments.take();
        const attachments = taken.map((each) => each.attachment);
        const sent = { text, ...this.here(), ...(attachments.length === 0 ? {} : { attachments }) };
        if (!(await this.turns.chat(sent, this.conversation.total))) {
            this.attachments.giveBack(taken, to);
            await this.giveBack(text, to);
        }
    }

    /** What was not taken, behind what was typed since of the conversation that it was said in. */
    private async giveBack(text: string, to: string | undefined): Promise<void> {
        if (to === this.conversation.id) {
            this.tell({ type: "addDraft", text });
        } else if (to === undefined) {
            this.desk.newDraft = behind(this.desk.newDraft, text);
        } else {
            const { conversation } = await this.server.request(p.ConversationReadRequest, { conversationId: to, start: 0, limit: 1 });
            await this.server.request(p.DraftSetRequest, { conversationId: to, text: behind(conversation.draft, text) });
        }
    }

    private async readPicture(digest: string): Promise<void> {
        const conversationId = this.conversation.id;
        if (conversationId === undefined) {
            return;
        }
        try {
            const found = await this.server.request(p.ConversationPictureRequest, { conversationId, digest });
            this.tell({ type: "picture", digest, url: `data:${found.mediaType};base64,${found.data}` });
        } catch {
            this.tell({ type: "picture", digest }); // it was deleted, or only its name was shared
        }
    }

    /** Sends a message again with another text and what was attached to it. In front of the first message there is nothing
     * to fork: the edited one begins a conversation. */
    private async editAndFork(messageId: number, text: string): Promise<void> {
        const conversationId = this.conversation.id;
        const attached = conversationId === undefined ? [] : this.attachments.made(await attachedTo(this.server, conversationId, messageId));
        if (messageId === 0 || conversationId === undefined) {
            this.turns.leave();
            this.conversation.close(this.desk.newDraft);
        } else {
            const fork = await this.server.request(p.ConversationForkRequest, { conversationId, messageId: messageId - 1 });
            await this.open(fork.conversationId);
        }
        await this.send(text, attached);
    }

    /** What cannot be said here now is said in a fork. */
    private async forkAndGoOn(text: string): Promise<void> {
        const conversationId = this.conversation.id;
        if (conversationId !== undefined) {
            const fork = await this.server.request(p.ConversationForkRequest, { conversationId });
            await this.server.request(p.DraftSetRequest, { conversationId, text: "" });
            await this.open(fork.conversationId);
            await this.send(text);
        }
    }

    private async recover(message: Extract<FromView, { type: "recover" }>): Promise<void> {
        const { turns } = await this.server.request(p.RecoveryListRequest, {});
        const broken = turns.find((each) => each.turnId === message.turnId);
        if (broken !== undefined && broken.conversationId !== this.conversation.id) {
            await this.open(broken.conversationId);
        }
        const params = { turnId: message.turnId, action: message.action, ...(message.asDraft === undefined ? {} : { asDraft: message.asDraft }) };
        if (message.action === "continue" || message.action === "retry") {
            await this.turns.resolve(params, this.conversation.total);
        } else {
            await this.server.request(p.RecoveryResolveRequest, params);
            if (this.conversation.id !== undefined) {
                await this.conversation.open(this.conversation.id, this.turns);
                this.tell({ type: "setDraft", text: this.conversation.info?.draft ?? "" });
            }
        }
        this.tell({ type: "recovery", turns: (await this.server.request(p.RecoveryListRequest, {})).turns });
    }

    private async turnChanged(conversationId: string | undefined, hasEnded: boolean): Promise<void> {
        if (conversationId === undefined) {
            return;
        }
        this.desk.lastConversation = conversationId;
        this.forgetDraft(this.turns.live?.question);
        const begins = this.conversation.id === undefined;
        await this.conversation.reread(conversationId, this.turns);
        if (begins) {
            this.attachments.begun(conversationId);
        }
        if (begins && !hasEnded) {
            await this.conversation.tellUsage(conversationId);
        }
        if (hasEnded) {
            await this.layers.readIfDue(this.conversation.id);
            await this.list();
        }
    }

    /** What was typed of a new conversation has been taken. */
    private forgetDraft(taken: string | undefined): void {
        if (this.desk.newDraft === taken) {
            this.desk.newDraft = "";
        }
    }

    private here(): { conversationId?: string } {
        return this.conversation.id === undefined ? {} : { conversationId: this.conversation.id };
    }

    private note(text: string): void {
        this.tell({ type: "notice", level: "info", text });
    }

    private async guard(work: () => unknown): Promise<void> {
        try {
            await work();
        } catch (error) {
            this.tell({ type: "notice", level: "error", text: toFailure(error).sentence });
        }
    }
}
