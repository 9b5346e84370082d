/** The extension: its parts put together. */
import * as vscode from "vscode";

import { ChatController } from "./chat/controller";
import { ChatPanel } from "./chat/panel";
import { VscodeDesk } from "./chat/vscode_desk";
import { Lenses } from "./facts/lenses";
import { StaleNotice } from "./facts/stale_notice";
import { FactsTree } from "./facts/tree";
import { describeMovedApart } from "./hub";
import type { FromView } from "./messages";
import { askApproval } from "./native/approvals";
import { Comparing } from "./native/changes/comparing";
import { Reviews } from "./native/changes/review";
import { Keys } from "./native/keys";
import { installExtras, offerExtras } from "./native/extras";
import { showMcpServers } from "./native/mcp";
import { OfferedModels } from "./native/models";
import { askQuietly } from "./native/offers";
import { registerParticipant } from "./native/participant";
import { Setup } from "./native/setup";
import { StatusItem } from "./native/status";
import { Terminals, terminalSelection } from "./native/terminals";
import { runTool, TOOL_INFOS } from "./native/tools";
import { asWords } from "./native/words";
import { toFailure } from "./port";
import * as p from "./protocol.gen";
import { ServerLife } from "./server/life";
import { COSTS, TOASTS } from "./texts";

export function activate(context: vscode.ExtensionContext): void {
    const log = vscode.window.createOutputChannel("Palimpsest", { log: true });
    const status = new StatusItem();
    const terminals = new Terminals();
    const life: ServerLife = new ServerLife(
        context,
        log,
        (client) => {
            client.onNotification(p.DidChangeUsageNotification.method, (params: p.UsageChangedParams) => {
                controller.usageChanged(params);
            });
            client.onNotification(p.DidChangeConversationNotification.method, (params: p.ConversationChangedParams) => void controller.conversationChanged(params));
            client.onNotification(p.DidChangeHubNotification.method, (params: p.HubStatus) => {
                controller.hubChanged(params);
            });
            client.onNotification(p.DidChangePresenceNotification.method, (params: p.PresenceChangedParams) => void controller.presenceChanged(params));
            client.onNotification(p.DidMoveApartNotification.method, (params: p.MovedApartParams) => void tellMovedApart(params, inPanel));
            client.onNotification(p.ContextEventNotification.method, (params: p.ContextEvent) => {
                controller.heard(params);
                if (params.type === "context_budget" && params.error !== undefined && !panel.isVisible) {
                    void tellBudget(params.error, inPanel);
                }
            });
            client.onNotification(p.DidChangeFactsNotification.method, (params: p.FactsChangedParams) => {
                void controller.factsChanged(params);
                void staleNotice.factsChanged(params).catch(() => undefined);
                facts.refresh();
                lenses.factsChanged(client);
            });
            client.onRequest(p.ApprovalRequestRequest.method, (params: p.ApprovalRequestParams, token: vscode.CancellationToken) => askApproval(params, token, panel, controller));
            askQuietly(client, () => panel.isVisible);
            client.onRequest(p.ToolsRunRequest.method, (params: p.RunToolParams) => runTool(params, terminals));
            client.onRequest(p.EditorModelCompleteRequest.method, (params: p.AskEditorModelParams, token: vscode.CancellationToken) =>
                models.complete(params, token, (delta) => client.sendNotification(p.EditorModelDeltaNotification.method, delta)),
            );
        },
        async () => {
            const tell = async (what: string, work: () => Promise<unknown>) => work().catch((error: unknown) => { log.warn(`${what}: ${toFailure(error).sentence}`); });
            await tell("The keys could not be sent", () => keys.sendAll());
            await tell("The tools could not be offered", () => life.request(p.ToolsRegisterRequest, { tools: TOOL_INFOS }));
            void models.serverStarted(); // may start other extensions: nobody waits for that
            facts.refresh();
            ready.fire();
        },
        async (name, answer) => {
            const conversationId = name === "palimpsest.fact.ask" ? conversationOf(answer) : undefined;
            if (conversationId !== undefined) {
                await panel.reveal();
                await controller.openDraft(conversationId);
            }
            const draft = name.startsWith("palimpsest.code.") ? draftOf(answer) : undefined;
            if (draft !== undefined) {
                await panel.reveal();
                controller.addDraft(draft);
            }
        },
    );
    const keys = new Keys(context.secrets, life);
    const models = new OfferedModels(
        vscode,
        () => vscode.workspace.getConfiguration("palimpsest").get("editorModels", false),
        (offered) => {
            life.notify(p.DidChangeEditorModelsNotification.method, { models: offered });
        },
    );
    const facts = new FactsTree(life);
    const lenses = new Lenses();
    const staleNotice = new StaleNotice(life, () => panel.isVisible, async () => {
        await vscode.commands.executeCommand("palimpsest.showFacts");
    });
    const setup = new Setup(life, keys, () => models.refresh());
    // The list that was open took the focus.
    const backInPanel = async <T>(work: Promise<T>): Promise<T> => work.finally(() => panel.reveal());
    const reviews = new Reviews();
    const comparing = new Comparing();
    const desk = new VscodeDesk(context.workspaceState, log, {
        apply: (text, info) => reviews.open(text, info),
        compare: (files) => comparing.open(files),
        startServer: () => void life.start(),
        choosePython: () => life.choosePython(),
        pickModel: (found, current, used) => backInPanel(setup.pickModel(found, current, used)),
        setUp: (service) => backInPanel(setup.begin(service)),
    });
    const panel: ChatPanel = new ChatPanel(context.extensionUri, log, (message) => controller.handle(message));
    const controller = new ChatController(life, desk, (message) => {
        status.heard(message);
        panel.tell(message);
    });
    const ready = new vscode.EventEmitter<void>();
    const inPanel = (message: FromView) => async () => {
        await panel.reveal();
        await controller.handle(message);
    };
    const command = (name: string, run: (...args: unknown[]) => unknown) => vscode.commands.registerCommand(`palimpsest.${name}`, async (...args: unknown[]) => {
        try {
            await run(...args);
        } catch (error) {
            void vscode.window.showErrorMessage(asWords(toFailure(error).sentence));
        }
    });
    context.subscriptions.push(
        log,
        ready,
        status,
        terminals,
        life,
        facts.register(),
        lenses,
        life.onPhase(({ phase, sentence, needsPython }) => {
            log.info(`server: ${phase}`);
            if (phase === "stopped") {
                status.stopped(sentence);
            } else {
                status.phase(sentence);
            }
            void controller.serverIs(phase, sentence, needsPython);
        }),
        offerExtras(life),
        vscode.window.registerWebviewViewProvider(ChatPanel.id, panel),
        reviews,
        comparing,
        vscode.workspace.onDidGrantWorkspaceTrust(() => {
            for (const folder of vscode.workspace.workspaceFolders ?? []) {
                life.notify(p.DidChangeTrustNotification.method, { folderUri: folder.uri.toString(), isTrusted: true });
            }
        }),
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration("palimpsest.server")) {
                void life.start();
            }
            if (event.affectsConfiguration("palimpsest.editorModels")) {
                void models.refresh();
            }
        }),
        vscode.lm.onDidChangeChatModels(() => void models.refresh()),
        vscode.window.onDidChangeActiveTextEditor(() => {
            controller.lookAround();
        }),
        vscode.languages.onDidChangeDiagnostics(() => {
            controller.lookAround();
        }),
        command("open", () => panel.reveal()),
        command("newConversation", inPanel({ type: "newConversation" })),
        command("listConversations", async () => {
            await inPanel({ type: "listConversations" })();
            panel.tell({ type: "show", page: "conversations" });
        }),
        command("showFacts", async () => {
            await inPanel({ type: "listFacts" })();
            panel.tell({ type: "show", page: "facts" });
        }),
        command("attachSelection", inPanel({ type: "attachSelection" })),
        command("attachTerminalSelection", async () => inPanel({ type: "attachTerminal", text: await terminalSelection() })()),
        command("explainContext", inPanel({ type: "explain" })),
        command("summarize", inPanel({ type: "summarize" })),
        command("undo", inPanel({ type: "undo" })),
        command("redo", inPanel({ type: "redo" })),
        command("switchModel", inPanel({ type: "pickModel" })),
        command("share", inPanel({ type: "share" })),
        command("unshare", inPanel({ type: "unshare" })),
        command("listShared", inPanel({ type: "listShared" })),
        command("showReaders", inPanel({ type: "readers" })),
        command("acceptChange", (resource) => reviews.accept(resource)),
        command("discardChange", (resource) => reviews.discard(resource)),
        command("stop", () => controller.handle({ type: "stop" })),
        command("setKey", inPanel({ type: "setUp" })),
        command("choosePython", () => life.choosePython()),
        command("restartServer", () => life.start()),
        command("mcpServers", () => showMcpServers(life)),
        command("installExtras", () => installExtras(life)),
        command("showLog", () => {
            log.show();
        }),
        command("refreshFacts", () => {
            facts.refresh();
        }),
        command("pinFact", () => facts.pin()),
        command("verifyFact", (node) => facts.act("verify", node)),
        command("updateFact", (node) => facts.act("update", node)),
        command("forgetFact", (node) => facts.act("forget", node)),
    );
    registerParticipant(context, life, ready.event);
    void life.start();
}

/** The panel says it as well, where it is in sight. */
async function tellBudget(sentence: string, inPanel: (message: FromView) => () => Promise<void>): Promise<void> {
    const choice = await vscode.window.showWarningMessage(asWords(sentence), COSTS.whatItCost, COSTS.changeBudget);
    if (choice !== undefined) {
        await inPanel({ type: choice === COSTS.whatItCost ? "explain" : "changeBudget" })();
    }
}

/** One notice, with both titles and the way to the fork. */
async function tellMovedApart(params: p.MovedApartParams, inPanel: (message: FromView) => () => Promise<void>): Promise<void> {
    if ((await vscode.window.showInformationMessage(asWords(describeMovedApart(params)), TOASTS.open)) === TOASTS.open) {
        await inPanel({ type: "open", conversationId: params.forkId })();
    }
}

/** Of the answer `{draft, folderUri}` of a command. */
function draftOf(answer: unknown): string | undefined {
    const draft: unknown = typeof answer === "object" && answer !== null && "draft" in answer ? answer.draft : undefined;
    return typeof draft === "string" ? draft : undefined;
}

/** Of the answer `{conversationId, draft}` of a command. */
function conversationOf(answer: unknown): string | undefined {
    const id: unknown = typeof answer === "object" && answer !== null && "conversationId" in answer ? answer.conversationId : undefined;
    return typeof id === "string" ? id : undefined;
}
