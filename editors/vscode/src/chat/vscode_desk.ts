/** The desk made of VS Code. */
import * as vscode from "vscode";

import type { Attachment, ModelInfo } from "../protocol.gen";
import { inFolders, isFile } from "../native/changes/target";
import { DESK } from "../texts";
import { followable } from "../view/links";
import type { Compared, Desk } from "./desk";

const LAST = "lastConversation";
const NEW_DRAFT = "newDraft";

export class VscodeDesk implements Desk {
    constructor(
        private readonly memory: vscode.Memento,
        private readonly log: vscode.LogOutputChannel,
        private readonly around: Pick<Desk, "apply" | "compare" | "startServer" | "choosePython" | "pickModel" | "setUp">,
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

    async copy(text: string): Promise<void> {
        await vscode.env.clipboard.writeText(text);
    }

    async insert(text: string): Promise<void> {
        const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
        if (editor === undefined) {
            throw new Error(DESK.nowhereToInsert);
        }
        await editor.edit((edit) => {
            edit.replace(editor.selection, text);
        });
    }

    apply(text: string, info: string): Promise<void> {
        return this.around.apply(text, info);
    }

    compare(files: readonly Compared[]): Promise<void> {
        return this.around.compare(files);
    }

    async openLink(href: string): Promise<void> {
        const address = followable(href);
        if (address === undefined) {
            throw new Error(DESK.deadLink);
        }
        const uri = vscode.Uri.parse(address, true);
        if (uri.scheme === "file") {
            if (vscode.workspace.getWorkspaceFolder(uri) === undefined && !(await confirm(DESK.openOutside(uri.fsPath)))) {
                return;
            }
            await vscode.window.showTextDocument(uri);
        } else if (await confirm(DESK.openPage(address))) {
            await vscode.env.openExternal(uri);
        }
    }

    async openPlace(address: string, line: number | undefined): Promise<void> {
        const uri = vscode.Uri.parse(address, true);
        if (uri.scheme === "untitled" || vscode.workspace.getWorkspaceFolder(uri) === undefined) {
            throw new Error(DESK.outside);
        }
        const selection = line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) };
        await vscode.window.showTextDocument(uri, { preview: true, ...selection });
    }

    async openPath(path: string, line: number | undefined): Promise<void> {
        for (const uri of inFolders(path)) {
            if (await isFile(uri)) {
                return this.openPlace(uri.toString(), line);
            }
        }
        throw new Error(DESK.noFile(path));
    }

    async toTerminal(text: string): Promise<void> {
        const command = text.trim();
        // A shell may run each line as it comes.
        if (/[\n\r]/.test(command) && !(await confirm(DESK.severalLines, DESK.goOn))) {
            return;
        }
        // eslint-disable-next-line no-control-regex
        if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(command)) {
            throw new Error(DESK.controlCharacters);
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

    surroundings(): { file?: string; errors: number } {
        const errors = vscode.languages.getDiagnostics().flatMap(([, found]) => found).filter((each) => each.severity === vscode.DiagnosticSeverity.Error).length;
        const uri = (vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0])?.document.uri;
        return uri === undefined || vscode.workspace.getWorkspaceFolder(uri) === undefined ? { errors } : { file: vscode.workspace.asRelativePath(uri, false), errors };
    }

    async openSetting(name: string): Promise<void> {
        await vscode.commands.executeCommand("workbench.action.openSettings", name);
    }

    startServer(): void {
        this.around.startServer();
    }

    showLog(): void {
        this.log.show();
    }
}

async function confirm(question: string, yes: string = DESK.open): Promise<boolean> {
    return (await vscode.window.showWarningMessage(question, { modal: true }, yes)) === yes;
}
