/**
 * A change of an answer's code, shown in VS Code's diff editor before it is made: Accept and Discard are in the editor's
 * title. A proposal lives as long as its tab. It is made only of the file that was looked at.
 */
import * as vscode from "vscode";

import { CHANGES } from "../../texts";
import { asWords } from "../words";
import { readNamed } from "./named";
import { place } from "./place";
import { chooseTarget } from "./target";

interface Proposal {
    readonly target: vscode.Uri;
    /** The file's text that was looked at; undefined for a file that does not exist yet. */
    readonly before: string | undefined;
    readonly after: string;
}

export class Reviews implements vscode.TextDocumentContentProvider, vscode.Disposable {
    static readonly scheme = "palimpsest-proposal";
    private readonly proposals = new Map<string, Proposal>();
    private readonly listening: vscode.Disposable;
    private counter = 0;

    constructor() {
        // Of an earlier session; what they proposed is gone.
        void closeTabs(() => true);
        this.listening = vscode.Disposable.from(
            vscode.workspace.registerTextDocumentContentProvider(Reviews.scheme, this),
            vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
                for (const tab of closed) {
                    const uri = proposed(tab);
                    // Moved to another group it is still open.
                    if (uri !== undefined && !tabs().some((each) => idOf(each.uri) === idOf(uri))) {
                        this.proposals.delete(idOf(uri));
                    }
                }
            }),
        );
    }

    dispose(): void {
        this.listening.dispose();
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return uri.fragment === "before" ? "" : (this.proposals.get(idOf(uri))?.after ?? "");
    }

    /** `info`: the block's info string. Throws a sentence where the code cannot be placed. */
    async open(text: string, info: string): Promise<void> {
        const { path, code } = readNamed(info, text);
        const target = await chooseTarget(path);
        if (target === undefined) {
            return;
        }
        const name = vscode.workspace.asRelativePath(target, false);
        const before = await read(target);
        const placed = place(before, code);
        if ("refused" in placed) {
            throw new Error(CHANGES.refused[placed.refused](name));
        }
        const id = String(++this.counter);
        const shown = target.with({ scheme: Reviews.scheme, query: id, fragment: "" });
        this.proposals.set(id, { target, before, after: placed.text });
        await vscode.commands.executeCommand("vscode.diff", before === undefined ? shown.with({ fragment: "before" }) : target, shown, CHANGES.title(name), { preview: false });
        if (placed.removed.length > 0) {
            void vscode.window.showWarningMessage(asWords(CHANGES.removes(placed.removed, name)));
        }
    }

    /** `resource`: of the tab, as VS Code gives it to a command in an editor's title; else the active tab counts. */
    async accept(resource: unknown): Promise<void> {
        const id = idOf(shownUri(resource));
        const proposal = this.proposals.get(id);
        if (proposal === undefined) {
            throw new Error(CHANGES.none);
        }
        const { target, before, after } = proposal;
        const name = vscode.workspace.asRelativePath(target, false);
        if ((await read(target)) !== before) {
            throw new Error(CHANGES.outdated(name));
        }
        const edit = new vscode.WorkspaceEdit();
        if (before === undefined) {
            edit.createFile(target, { contents: Buffer.from(after) });
        } else {
            const { range, text } = difference(before, after);
            edit.replace(target, range, text);
        }
        // A second press finds no proposal.
        this.proposals.delete(id);
        if (!(await vscode.workspace.applyEdit(edit))) {
            this.proposals.set(id, proposal);
            throw new Error(CHANGES.failed(name));
        }
        await closeTabs((uri) => idOf(uri) === id);
        const { range } = difference(before ?? "", after);
        await vscode.window.showTextDocument(target, { preview: false, selection: new vscode.Range(range.start, range.start) });
    }

    async discard(resource: unknown): Promise<void> {
        const id = idOf(shownUri(resource));
        await closeTabs((uri) => idOf(uri) === id);
    }
}

/** A document's text with what is not saved yet; undefined where there is no file. */
async function read(target: vscode.Uri): Promise<string | undefined> {
    const known = vscode.workspace.textDocuments.find((each) => each.uri.toString() === target.toString());
    if (known !== undefined) {
        return known.getText();
    }
    try {
        await vscode.workspace.fs.stat(target);
    } catch {
        return undefined;
    }
    return (await vscode.workspace.openTextDocument(target)).getText();
}

/** The lines that differ, and what takes their place. */
function difference(before: string, after: string): { range: vscode.Range; text: string } {
    const old = before.split("\n");
    const fresh = after.split("\n");
    const most = Math.min(old.length, fresh.length) - 1;
    let first = 0;
    while (first < most && old[first] === fresh[first]) {
        first += 1;
    }
    let same = 0;
    while (same < most - first && old[old.length - 1 - same] === fresh[fresh.length - 1 - same]) {
        same += 1;
    }
    const last = old.length - 1 - same;
    return { range: new vscode.Range(first, 0, last, old[last]?.replace(/\r$/, "").length ?? 0), text: fresh.slice(first, fresh.length - same).join("\n").replace(/\r$/, "") };
}

function proposed({ input }: vscode.Tab): vscode.Uri | undefined {
    return input instanceof vscode.TabInputTextDiff && input.modified.scheme === Reviews.scheme ? input.modified : undefined;
}

function tabs(): Array<{ tab: vscode.Tab; uri: vscode.Uri }> {
    return vscode.window.tabGroups.all.flatMap((group) => group.tabs).flatMap((tab) => {
        const uri = proposed(tab);
        return uri === undefined ? [] : [{ tab, uri }];
    });
}

async function closeTabs(isMeant: (uri: vscode.Uri) => boolean): Promise<void> {
    const found = tabs().flatMap(({ tab, uri }) => (isMeant(uri) ? [tab] : []));
    if (found.length > 0) {
        await vscode.window.tabGroups.close(found);
    }
}

function shownUri(resource: unknown): vscode.Uri | undefined {
    if (resource instanceof vscode.Uri && resource.scheme === Reviews.scheme) {
        return resource;
    }
    const active = vscode.window.tabGroups.activeTabGroup.activeTab;
    return tabs().find(({ tab }) => tab === active)?.uri;
}

function idOf(uri: vscode.Uri | undefined): string {
    return uri?.query ?? "";
}
