/** The file of the workspace that a block of code is for: the one that it names, else the one that the user names. */
import * as vscode from "vscode";

import { pick, type Item } from "../dialogs";
import { CHANGES } from "../../texts";

/** Files of the same name that are offered. */
const MOST = 20;

type Choice = { readonly uri: vscode.Uri } | "other";

/** Undefined for Esc. Throws a sentence for a path outside of the workspace. */
export async function chooseTarget(path: string | undefined): Promise<vscode.Uri | undefined> {
    if (vscode.workspace.workspaceFolders === undefined) {
        throw new Error(CHANGES.noFolder);
    }
    if (path === undefined) {
        return ask(CHANGES.which, openFiles());
    }
    const places = inFolders(path);
    const [first] = places;
    if (first === undefined) {
        throw new Error(CHANGES.outside(path));
    }
    for (const uri of places) {
        if (await isFile(uri)) {
            return uri;
        }
    }
    const alike = (await vscode.workspace.findFiles(`**/${escapeGlob(path)}`, undefined, MOST)).sort((a, b) => a.path.length - b.path.length);
    return alike.length === 0 ? first : ask(CHANGES.whichOf(path), [...alike.map((uri) => row(uri)), { label: CHANGES.newFile(path), iconPath: new vscode.ThemeIcon("new-file"), value: { uri: first } }]);
}

/** A path of a workspace folder, in each that can hold it. */
export function inFolders(path: string): vscode.Uri[] {
    return (vscode.workspace.workspaceFolders ?? []).flatMap(({ uri }) => {
        const found = path.startsWith("/") ? uri.with({ path }) : vscode.Uri.joinPath(uri, path);
        return vscode.workspace.getWorkspaceFolder(found)?.uri.toString() === uri.toString() && found.path !== uri.path ? [found] : [];
    });
}

export async function isFile(uri: vscode.Uri): Promise<boolean> {
    try {
        return ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) !== 0;
    } catch {
        return false;
    }
}

/** The active file first. */
function openFiles(): Array<Item<Choice>> {
    const active = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
    const open = vscode.window.tabGroups.all.flatMap((group) => group.tabs).flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []));
    const found = new Map([...(active === undefined ? [] : [active.document.uri]), ...open].map((uri) => [uri.toString(), uri]));
    const rows = [...found.values()].filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined).map((uri) => row(uri, uri.toString() === active?.document.uri.toString() ? CHANGES.activeFile : undefined));
    return [...rows, { label: CHANGES.otherFile, iconPath: new vscode.ThemeIcon("folder-opened"), value: "other" }];
}

function row(uri: vscode.Uri, description?: string): Item<Choice> {
    return { label: vscode.workspace.asRelativePath(uri), iconPath: vscode.ThemeIcon.File, resourceUri: uri, value: { uri }, ...(description === undefined ? {} : { description }) } as Item<Choice>;
}

async function ask(title: string, items: ReadonlyArray<Item<Choice>>): Promise<vscode.Uri | undefined> {
    const choice = await pick(title, CHANGES.search, items);
    if (choice !== "other") {
        return choice?.uri;
    }
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const [file] = (await vscode.window.showOpenDialog({ title, openLabel: CHANGES.choose, ...(folder === undefined ? {} : { defaultUri: folder }) })) ?? [];
    if (file !== undefined && vscode.workspace.getWorkspaceFolder(file) === undefined) {
        throw new Error(CHANGES.outside(file.fsPath));
    }
    return file;
}

function escapeGlob(path: string): string {
    return path.replace(/[[\]{}*?]/g, "[$&]");
}
