/** The server's life: started as configured, watched, started again with patience, and stopped with the window. */
import { homedir } from "node:os";
import path from "node:path";
import * as vscode from "vscode";
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn, State, TransportKind, WorkDoneProgress, type LanguageClientOptions, type StaticFeature } from "vscode-languageclient/node";
import { ProgressType, ResponseError, type RequestType } from "vscode-languageserver-protocol";

import { CHANGES, EXTRAS, START } from "../texts";
import { toFailure, type ServerPort } from "../port";
import { ExtraMissingNotification, type ExtraMissingParams, type TurnDelta } from "../protocol.gen";
import { forServer } from "../settings";
import { Backoff } from "./backoff";
import { chooseLaunch, launchInterpreter, serverEnvironment, type Launch } from "./launch";
import { ensureEnvironment, installExtras, NoPython, SetupFailed, type ManagedOptions } from "./managed";
import { explainMismatch } from "./version";

/** Where the Python is kept that the user chose. */
const BASE_PYTHON = "basePython";

export type Phase = "starting" | "ready" | "stopped";

/** What the server is doing. `needsPython`: it stopped because there is none, and the user may know of one. */
export interface Told {
    readonly phase: Phase;
    readonly sentence: string;
    readonly needsPython: boolean;
}

const DELTA = new ProgressType<TurnDelta>();

export class ServerLife implements ServerPort, vscode.Disposable {
    private client: LanguageClient | undefined;
    private readonly backoff = new Backoff(() => performance.now());
    private readonly phases = new vscode.EventEmitter<Told>();
    /** What the server is doing, each time that changes. */
    readonly onPhase = this.phases.event;
    private readonly lacks = new vscode.EventEmitter<string>();
    /** A sentence, each time the server lacks an extra that `installExtras` would install. */
    readonly onLack = this.lacks.event;
    private isManaged = false;
    private installing: Promise<void> | undefined;
    private isWanted = false;
    /** Whether the last phase that was told is "ready". */
    private isGreeted = false;

    /**
     * `prepare`: registers handlers on a client before it starts. `started`: said to each server when it answers.
     * `executed`: told what the server answered to a command.
     */
    constructor(
        private readonly context: vscode.ExtensionContext,
        private readonly log: vscode.LogOutputChannel,
        private readonly prepare: (client: LanguageClient) => void,
        private readonly started: () => Promise<void>,
        private readonly executed: (command: string, answer: unknown) => Promise<void>,
    ) {}

    async start(): Promise<void> {
        await this.stop();
        this.isWanted = true;
        this.backoff.reset();
        this.say("starting", START.starting);
        try {
            const client = this.makeClient(await this.command());
            this.client = client;
            await client.start();
        } catch (error) {
            this.isWanted = false;
            const why = error instanceof ResponseError ? START.ended : error instanceof Error ? error.message : "";
            this.log.error(`The server could not be started. ${why}${error instanceof SetupFailed && error.cause instanceof Error ? ` ${error.cause.message}` : ""}`);
            this.say("stopped", START.failed(why), error instanceof NoPython);
        }
    }

    /** Then the server is started again, with the extras. Rejects with a sentence, and the server goes on as it was. */
    installExtras(): Promise<void> {
        this.installing ??= this.withExtras().finally(() => {
            this.installing = undefined;
        });
        return this.installing;
    }

    private async withExtras(): Promise<void> {
        if (this.launch().kind !== "managed") {
            throw new Error(EXTRAS.ownServer);
        }
        await this.setUp(installExtras, EXTRAS.installing).catch((error: unknown) => {
            this.log.error(`The extras could not be installed.${error instanceof SetupFailed && error.cause instanceof Error ? ` ${error.cause.message}` : ""}`);
            throw new Error(EXTRAS.failed(error instanceof Error ? error.message : ""));
        });
        await this.start();
    }

    /** A Python of the user's to make the environment with, and another try. */
    async choosePython(): Promise<void> {
        const [file] = (await vscode.window.showOpenDialog({ title: START.pythonDialog, openLabel: CHANGES.choose })) ?? [];
        if (file !== undefined) {
            await this.context.globalState.update(BASE_PYTHON, file.fsPath);
            await this.start();
        }
    }

    async stop(): Promise<void> {
        const client = this.client;
        this.client = undefined;
        this.isWanted = false;
        if (client !== undefined && client.state !== State.Stopped) {
            await client.dispose().catch(() => undefined);
        }
    }

    dispose(): Promise<void> {
        this.phases.dispose();
        this.lacks.dispose();
        return this.stop();
    }

    /** Waits for a server that is starting. Rejects when it does not come. */
    async whenReady(): Promise<void> {
        if (this.isGreeted || !this.isWanted) {
            return;
        }
        await new Promise<void>((resolve, reject) => {
            const listening = this.onPhase(({ phase, sentence }) => {
                if (phase !== "starting") {
                    listening.dispose();
                    if (phase === "ready") {
                        resolve();
                    } else {
                        reject(new Error(sentence));
                    }
                }
            });
        });
    }

    /** Rejects, and does not throw, while no server runs. */
    async request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R> {
        try {
            return await this.running().sendRequest<R>(type.method, params);
        } catch (error) {
            const { lacksExtra, sentence } = toFailure(error);
            if (lacksExtra && this.isManaged) {
                this.lacks.fire(sentence);
            }
            throw error;
        }
    }

    notify(method: string, params: unknown): void {
        if (this.client?.state === State.Running) {
            void this.client.sendNotification(method, params);
        }
    }

    onDelta(token: string, handler: (delta: TurnDelta) => void): vscode.Disposable {
        return this.running().onProgress(DELTA, token, handler);
    }

    onWork(token: string, handler: (sentence: string) => void): vscode.Disposable {
        let title = "";
        return this.running().onProgress(WorkDoneProgress.type, token, (value) => {
            title = value.kind === "begin" ? value.title : title;
            handler(value.kind === "end" ? "" : [title, value.message].filter((each) => each).join(": "));
        });
    }

    private running(): LanguageClient {
        if (this.client?.state !== State.Running) {
            throw new Error(START.notRunning);
        }
        return this.client;
    }

    private say(phase: Phase, sentence: string, needsPython = false): void {
        this.isGreeted = phase === "ready";
        this.phases.fire({ phase, sentence, needsPython });
    }

    private launch(): Launch {
        const settings = vscode.workspace.getConfiguration("palimpsest.server");
        return chooseLaunch({ path: settings.get("path", ""), python: settings.get("python", "") }, homedir());
    }

    private async command(): Promise<{ command: string; args: string[] }> {
        const launch = this.launch();
        this.isManaged = launch.kind === "managed";
        if (launch.kind !== "managed") {
            return { command: launch.command, args: [...launch.args] };
        }
        const launched = launchInterpreter(await this.setUp(ensureEnvironment, START.settingUp, () => { this.say("starting", START.settingUp); }));
        return { command: launched.command, args: [...launched.args] };
    }

    /** Work on the extension's own environment. A Python that was chosen and is gone is looked for anew. */
    private async setUp<T>(work: (options: ManagedOptions) => Promise<T>, title: string, began = (): void => undefined): Promise<T> {
        const abort = new AbortController();
        let isOver = (): void => undefined;
        const over = new Promise<void>((resolve) => {
            isOver = resolve;
        });
        const begin = () => {
            began();
            void vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: START.named(title), cancellable: true }, (_, token) => {
                token.onCancellationRequested(() => {
                    abort.abort(new Error(START.stoppedByUser));
                });
                return over;
            });
        };
        const make = (python: string) => work({ storage: this.context.globalStorageUri.fsPath, carried: path.join(this.context.extensionPath, "server"), python, platform: process.platform, signal: abort.signal, begin });
        const chosen = this.context.globalState.get(BASE_PYTHON, "");
        try {
            return await make(chosen);
        } catch (error) {
            if (error instanceof NoPython && chosen !== "") {
                await this.context.globalState.update(BASE_PYTHON, undefined);
            }
            throw error;
        } finally {
            isOver();
        }
    }

    private makeClient({ command, args }: { command: string; args: string[] }): LanguageClient {
        const known = Object.keys(serverSettings(this.context));
        const run = { command, args, transport: TransportKind.stdio, options: { cwd: homedir(), env: serverEnvironment(process.env) } };
        const options: LanguageClientOptions = {
            documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
            outputChannel: this.log,
            revealOutputChannelOn: RevealOutputChannelOn.Never,
            // Facts grow stale while somebody types; without this diagnostics are asked for on opening alone.
            diagnosticPullOptions: { onChange: true, onSave: true, onTabs: true },
            initializationFailedHandler: () => false,
            initializationOptions: () => ({ palimpsest: { trust: vscode.workspace.isTrusted } }),
            middleware: {
                // Whoever asked for it: an action on the line, a lens, a key.
                executeCommand: async (command, args, next) => {
                    const answer: unknown = await next(command, args);
                    await this.executed(command, answer);
                    return answer;
                },
                workspace: {
                    configuration: async (params, token, next) => {
                        const values: unknown = await next(params, token);
                        return Array.isArray(values) ? values.map((value, index): unknown => (params.items[index]?.section === "palimpsest" ? forServer(value, known) : value)) : [];
                    },
                    // The server asks for what it wants to know.
                    didChangeConfiguration: async () => {
                        await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
                    },
                },
            },
            errorHandler: {
                error: () => ({ action: ErrorAction.Continue, handled: true }),
                closed: async () => {
                    const next = this.isWanted ? this.backoff.ended() : { kind: "giveUp" as const };
                    if (next.kind === "giveUp") {
                        this.say("stopped", this.isWanted ? START.keepsEnding : START.stopped);
                        return { action: CloseAction.DoNotRestart, handled: true };
                    }
                    this.say("starting", START.again(next.delayMs / 1000));
                    await new Promise((resolve) => setTimeout(resolve, next.delayMs));
                    return { action: this.isWanted ? CloseAction.Restart : CloseAction.DoNotRestart, handled: true };
                },
            },
        };
        const client = new QuietClient("palimpsest", "Palimpsest", { run, debug: run }, options);
        client.registerFeature(announces(this.isManaged));
        client.onNotification(ExtraMissingNotification.method, ({ sentence }: ExtraMissingParams) => { this.lacks.fire(sentence); });
        this.prepare(client);
        client.onDidChangeState(({ newState }) => {
            if (newState === State.Running && this.client === client) {
                void this.greet(client);
            }
        });
        return client;
    }

    private async greet(client: LanguageClient): Promise<void> {
        const mismatch = explainMismatch(client.initializeResult?.capabilities.experimental);
        if (mismatch !== undefined) {
            this.log.error(mismatch);
            await this.stop();
            this.say("stopped", mismatch);
            return;
        }
        this.backoff.started();
        await this.started();
        this.say("ready", "");
    }
}

/** Asks for the notifications of our protocol: a server sends them to nobody who does not. That no model is set up stands in the panel. */
const announces = (extras: boolean): StaticFeature => ({
    fillClientCapabilities: (capabilities) => {
        capabilities.experimental = { palimpsest: { notifications: true, setUp: true, drafts: true, extras } };
    },
    initialize: () => undefined,
    getState: () => ({ kind: "static" }),
    clear: () => undefined,
});

/** The panel and the status bar say what is wrong with the server; messages of the library on top would say it again. */
class QuietClient extends LanguageClient {
    override error(message: string, data?: unknown): void {
        super.error(message, data, false);
    }
}

/** The settings of the server's schema, as they stand in the extension's manifest. */
function serverSettings(context: vscode.ExtensionContext): Record<string, unknown> {
    const manifest = context.extension.packageJSON as { contributes: { configuration: Array<{ title: string; properties: Record<string, unknown> }> } };
    return manifest.contributes.configuration[0]?.properties ?? {};
}
