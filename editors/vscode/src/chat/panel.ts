/** The chat panel: a webview that may run one script of the extension, load nothing, and say what `messages.ts` declares. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import { readFromView, type FromHost, type FromView } from "../messages";

export class ChatPanel implements vscode.WebviewViewProvider {
    static readonly id = "palimpsest.chat";
    private view: vscode.WebviewView | undefined;
    private isReady = false;
    private told = new Gate();
    private readonly hidden = new vscode.EventEmitter<void>();
    readonly onHidden = this.hidden.event;

    constructor(
        private readonly root: vscode.Uri,
        private readonly log: vscode.LogOutputChannel,
        private readonly handle: (message: FromView) => Promise<void>,
    ) {}

    resolveWebviewView(view: vscode.WebviewView): void {
        this.view = view;
        this.isReady = false;
        const { webview } = view;
        webview.options = { enableScripts: true, enableCommandUris: false, enableForms: true, localResourceRoots: [vscode.Uri.joinPath(this.root, "dist")], portMapping: [] };
        webview.onDidReceiveMessage((value: unknown) => {
            const message = readFromView(value);
            if (message === undefined) {
                this.log.warn("An invalid message of the panel was dropped.");
                return;
            }
            this.isReady ||= message.type === "ready";
            const handled = this.handle(message);
            if (message.type === "ready") {
                void handled.then(this.told.open);
            }
        });
        // The page of a hidden panel is gone; it is loaded, and told everything, when it is shown again.
        view.onDidChangeVisibility(() => {
            if (!view.visible) {
                this.pageIsGone();
                this.hidden.fire();
            }
        });
        view.onDidDispose(() => {
            this.view = undefined;
            this.isReady = false;
            this.pageIsGone();
        });
        webview.html = this.page(webview);
    }

    /** A panel that is not there yet is told everything when it is: it asks by `ready`. */
    tell(message: FromHost): void {
        if (this.isReady) {
            void this.view?.webview.postMessage(message);
        }
    }

    get isVisible(): boolean {
        return this.view?.visible === true;
    }

    /** Comes back when the panel can be seen and shows what there is, so that what it is told next stays. */
    async reveal(): Promise<void> {
        await vscode.commands.executeCommand(`${ChatPanel.id}.focus`);
        await this.told.opened;
    }

    private pageIsGone(): void {
        // Who waits already waits for the next page.
        if (this.told.isOpen) {
            this.told = new Gate();
        }
    }

    private page(webview: vscode.Webview): string {
        const nonce = randomBytes(18).toString("base64");
        const file = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.root, "dist", name)).toString();
        const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; font-src ${webview.cspSource}; img-src data:; base-uri 'none'; form-action 'none'`;
        return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Palimpsest</title>
<link rel="stylesheet" href="${file("view.css")}">
</head>
<body><script nonce="${nonce}" src="${file("view.js")}"></script></body>
</html>`;
    }
}

/** Opens once, and lets everybody go on who waits for it. */
class Gate {
    isOpen = false;
    private goOn!: () => void;
    readonly opened = new Promise<void>((resolve) => {
        this.goOn = resolve;
    });
    readonly open = () => {
        this.isOpen = true;
        this.goOn();
    };
}
