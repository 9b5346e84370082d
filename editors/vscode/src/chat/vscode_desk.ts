/** The desk made of VS Code. Files are changed only where they lie in the workspace, and only after their diff was shown. */
import * as vscode from "vscode";

import type { Attachment, ModelInfo } from "../protocol.gen";
import { followable } from "../view/links";
import type { Desk } from "./desk";

const LAST = "lastConversation";
const NEW_DRAFT = "newDraft";

export class VscodeDesk implements Desk, vscode.TextDocumentContentProvider {
    static readonly scheme = "palimpsest-proposal";
    private readonly proposals = new Map<string, string>();
    private counter = 0;

    constructor(
        private readonly memory: vscode.Memento,
        private readonly log: vscode.LogOutputChannel,
        private readonly around: Pick<Desk, "startServer" | "choosePython" | "pickModel" | "setUp">,
    ) {}

    get lastConversation(): string | undefined {
        return this.memory.get<string>(LAST);
    }

    set lastConversation(conversationId: string | undefined) {
        void this.memory.update(LAST, conversationId);
    }

    get newDraft(): string {
        return this.memory.get<string>(NEW_DRAFT, "");
    }

    set newDraft(text: string) {
        void this.memory.update(NEW_DRAFT, text);
    }

    provideTextDocumentContent(uri: vscode.Uri): string {
        return this.proposals.get(uri.query) ?? "";
    }

    async copy(text: string): Promise<void> {
        await vscode.env.clipboard.writeText(text);
    }

    async insert(text: string): Promise<void> {
        const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
        if (editor === undefined) {
            throw new Error("First open the file to insert into.");
        }
        await editor.edit((edit) => {
            edit.replace(editor.selection, text);
        });
    }

    async apply(text: string, path: string | undefined): Promise<void> {
        const target = path === undefined ? (vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0])?.document.uri : await findInWorkspace(path);
        if (target === undefined || vscode.workspace.getWorkspaceFolder(target) === undefined) {
            throw new Error("First open the workspace file to apply this to.");
        }
        const document = await vscode.workspace.openTextDocument(target);
        const editor = vscode.window.visibleTextEditors.find((each) => each.document === document);
        const range = editor === undefined || editor.selection.isEmpty ? new vscode.Range(0, 0, document.lineCount, 0) : new vscode.Range(editor.selection.start, editor.selection.end);
        const whole = document.validateRange(range);
        const before = document.version;
        const all = document.getText();
        const proposed = all.slice(0, document.offsetAt(whole.start)) + text + all.slice(document.offsetAt(whole.end));
        const id = String(++this.counter);
        this.proposals.set(id, proposed);
        const name = vscode.workspace.asRelativePath(target);
        try {
            const shown = target.with({ scheme: VscodeDesk.scheme, query: id });
            await vscode.commands.executeCommand("vscode.diff", target, shown, `${name}: current and proposed`, { preview: true });
            const answer = await vscode.window.showInformationMessage(`Apply this change to ${name}?`, "Apply");
            if (answer === "Apply") {
                if (document.version !== before) {
                    throw new Error(`${name} has changed meanwhile. Nothing was applied.`);
                }
                const edit = new vscode.WorkspaceEdit();
                edit.replace(target, whole, text);
                await vscode.workspace.applyEdit(edit);
            }
        } finally {
            this.proposals.delete(id);
        }
    }

    async openLink(href: string): Promise<void> {
        const address = followable(href);
        if (address === undefined) {
            throw new Error("This link leads to no page and no file.");
        }
        const uri = vscode.Uri.parse(address, true);
        if (uri.scheme === "file") {
            if (vscode.workspace.getWorkspaceFolder(uri) === undefined && !(await confirm(`Open the file ${uri.fsPath}, which is not in the workspace?`))) {
                return;
            }
            await vscode.window.showTextDocument(uri);
        } else if (await confirm(`Open ${address} in your browser?`)) {
            await vscode.env.openExternal(uri);
        }
    }

    async openPlace(address: string, line: number | undefined): Promise<void> {
        const uri = vscode.Uri.parse(address, true);
        if (uri.scheme === "untitled" || vscode.workspace.getWorkspaceFolder(uri) === undefined) {
            throw new Error("This place is not in the workspace.");
        }
        const selection = line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) };
        await vscode.window.showTextDocument(uri, { preview: true, ...selection });
    }

    async openPath(path: string, line: number | undefined): Promise<void> {
        const uri = await findInWorkspace(path);
        if (uri === undefined) {
            throw new Error(`There is no file ${path} in this folder.`);
        }
        await this.openPlace(uri.toString(), line);
    }

    async toTerminal(text: string): Promise<void> {
        const command = text.trim();
        // A shell may run each line as it comes.
        if (/[\n\r]/.test(command) && !(await confirm("This has several lines. A terminal may run them at once. Go on?", "Go on"))) {
            return;
        }
        // eslint-disable-next-line no-control-regex
        if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(command)) {
            throw new Error("This has characters that control a terminal. Nothing was put there.");
        }
        const terminal = vscode.window.activeTerminal ?? vscode.window.createTerminal();
        terminal.show();
        terminal.sendText(command, false);
    }

    async addFact(): Promise<void> {
        await vscode.commands.executeCommand("palimpsest.pinFact");
    }

    folders(): ReadonlyArray<{ uri: string; name: string }> {
        return (vscode.workspace.workspaceFolders ?? []).map(({ uri, name }) => ({ uri: uri.toString(), name }));
    }

    async confirm(question: string, yes: string): Promise<boolean> {
        return confirm(question, yes);
    }

    async input(prompt: string, value: string): Promise<string | undefined> {
        return vscode.window.showInputBox({ prompt, value });
    }

    pickModel(models: readonly ModelInfo[], current: string | undefined, used: number): Promise<string | undefined> {
        return this.around.pickModel(models, current, used);
    }

    setUp(service: string | undefined): Promise<boolean> {
        return this.around.setUp(service);
    }

    choosePython(): Promise<void> {
        return this.around.choosePython();
    }

    selection(): Attachment | undefined {
        const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
        if (editor === undefined) {
            return undefined;
        }
        const path = editor.document.uri.toString();
        const { selection } = editor;
        if (selection.isEmpty) {
            return { type: "file", path };
        }
        return { type: "selection", path, text: editor.document.getText(selection), startLine: selection.start.line + 1, endLine: selection.end.line + 1 };
    }

    startServer(): void {
        this.around.startServer();
    }

    showLog(): void {
        this.log.show();
    }
}

async function confirm(question: string, yes = "Open"): Promise<boolean> {
    return (await vscode.window.showWarningMessage(question, { modal: true }, yes)) === yes;
}

async function findInWorkspace(path: string): Promise<vscode.Uri | undefined> {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
        const uri = vscode.Uri.joinPath(folder.uri, path);
        if (vscode.workspace.getWorkspaceFolder(uri) !== undefined) {
            try {
                await vscode.workspace.fs.stat(uri);
                return uri;
            } catch {
                // It may lie in another folder.
            }
        }
    }
    return undefined;
}
