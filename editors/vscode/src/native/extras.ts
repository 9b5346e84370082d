/** Support for what the server needs extras for: offered where it says that one is missing, and as a command. */
import * as vscode from "vscode";

import { toFailure } from "../port";
import type { ServerLife } from "../server/life";
import { EXTRAS } from "../texts";
import { asWords } from "./words";

/** One offer at a time, until it is disposed of. */
export function offerExtras(life: ServerLife): vscode.Disposable {
    let isOffering = false;
    return life.onLack((sentence) => {
        if (!isOffering) {
            isOffering = true;
            void offer(life, sentence).finally(() => {
                isOffering = false;
            });
        }
    });
}

async function offer(life: ServerLife, sentence: string): Promise<void> {
    if ((await vscode.window.showWarningMessage(asWords(sentence), EXTRAS.install)) === EXTRAS.install) {
        await installExtras(life).catch((error: unknown) => vscode.window.showErrorMessage(asWords(toFailure(error).sentence)));
    }
}

/** Rejects with a sentence for the user. */
export async function installExtras(life: ServerLife): Promise<void> {
    await life.installExtras();
    void vscode.window.showInformationMessage(EXTRAS.installed);
}
