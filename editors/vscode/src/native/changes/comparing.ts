/** Edits that were accepted, in VS Code's diff editors: what they changed, and what was changed since. */
import * as vscode from "vscode";

import type { Compared } from "../../chat/desk";
import { CHANGES } from "../../texts";

/** Texts of edits that are kept for editors that show them. */
const MOST = 200;

type Side = "before" | "after";

export class Comparing implements vscode.TextDocumentContentProvider, vscode.Disposable {
    static readonly scheme = "palimpsest-edit";
    private readonly texts = new Map<string, string>();
    private readonly provider = vscode.workspace.registerTextDocumentContentProvider(Comparing.scheme, this);
    private counter = 0;

    dispose(): void {
        this.provider.dispose();
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.texts.get(uri.query) ?? "";
    }

    /** One file that stands as its edits left it in a diff of two; all others in one editor of several. */
    async open(files: readonly Compared[]): Promise<void> {
        const [only] = files;
        if (files.length === 1 && only !== undefined && (only.now === only.after || only.now === only.before)) {
            const file = vscode.Uri.parse(only.uri, true);
            const after = only.now === only.after ? file : this.keep(file, "after", only.after);
            await vscode.commands.executeCommand("vscode.diff", this.keep(file, "before", only.before), after, CHANGES.edited(only.path), { preview: true });
            return;
        }
        const shown = files.flatMap((each): vscode.Uri[][] => {
            const file = vscode.Uri.parse(each.uri, true);
            const [before, after] = [this.keep(file, "before", each.before), this.keep(file, "after", each.after)];
            const isAsLeft = each.now === each.after;
            const edit = [file, before, isAsLeft ? file : after];
            return isAsLeft || each.now === undefined || each.now === each.before ? [edit] : [edit, [file, after, file]];
        });
        if (shown.length > 0) {
            await vscode.commands.executeCommand("vscode.changes", CHANGES.edits(files.length), shown);
        }
    }

    private keep(file: vscode.Uri, side: Side, text: string | undefined): vscode.Uri {
        const id = `${++this.counter}-${side}`;
        this.texts.set(id, text ?? "");
        for (const oldest of this.texts.keys()) {
            if (this.texts.size <= MOST) {
                break;
            }
            this.texts.delete(oldest);
        }
        return file.with({ scheme: Comparing.scheme, query: id });
    }
}
