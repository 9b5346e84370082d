/** A list to choose from, and a line to type that is checked before it is taken. */
import * as vscode from "vscode";

import { asWords } from "./words";

/** A separator has no value. */
export type Item<T> = vscode.QuickPickItem & { readonly value?: T };

export async function pick<T>(title: string, placeHolder: string, items: ReadonlyArray<Item<T>>): Promise<T | undefined> {
    return (await vscode.window.showQuickPick(items, { title, placeHolder, matchOnDescription: true, ignoreFocusOut: true }))?.value;
}

export type Checked = { readonly value: string } | { readonly problem: string };

/** What was typed, as soon as `check` takes it; undefined for Esc. Until then it stands there to be corrected. */
export function ask(line: { title: string; prompt: string; placeHolder: string; password: boolean; value: string }, check: (typed: string) => Promise<Checked>): Promise<string | undefined> {
    const input = Object.assign(vscode.window.createInputBox(), line, { ignoreFocusOut: true });
    return new Promise<string | undefined>((resolve) => {
        let isDone = false;
        const finish = (value: string | undefined) => {
            isDone = true;
            resolve(value);
            input.dispose();
        };
        input.onDidAccept(async () => {
            if (input.busy) {
                return;
            }
            input.busy = true;
            input.enabled = false;
            const checked = await check(input.value).catch((error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }));
            if (isDone) {
                return;
            }
            if ("value" in checked) {
                finish(checked.value);
                return;
            }
            input.busy = false;
            input.enabled = true;
            input.validationMessage = asWords(checked.problem);
            input.show();
        });
        input.onDidChangeValue(() => {
            input.validationMessage = undefined;
        });
        input.onDidHide(() => {
            if (!isDone) {
                finish(undefined);
            }
        });
        input.show();
    });
}
