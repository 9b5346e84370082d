/**
 * Code lenses of facts, asked for once more after facts have changed. VS Code drops its own question where the editor
 * loses the focus in the moment before it would be asked, and then asks at the next focus or edit only.
 */
import * as vscode from "vscode";
import { CodeLensRequest } from "vscode-languageserver-protocol";
import type { LanguageClient } from "vscode-languageclient/node";

/** Longer than VS Code waits before it asks. */
const DELAY_MS = 1_500;

export class Lenses implements vscode.Disposable {
    private waiting: ReturnType<typeof setTimeout> | undefined;

    factsChanged(client: LanguageClient): void {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => {
            const feature = client.getFeature(CodeLensRequest.method);
            const emitters = vscode.window.visibleTextEditors.map(({ document }) => feature.getProvider(document)?.onDidChangeCodeLensEmitter);
            new Set(emitters).forEach((each) => each?.fire());
        }, DELAY_MS);
    }

    dispose(): void {
        clearTimeout(this.waiting);
    }
}
