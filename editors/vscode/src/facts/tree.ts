/** The facts of the open folders: stale ones first, then by file, then by type. */
import * as vscode from "vscode";

import { asWords } from "../native/words";
import { FACT_TREE } from "../texts";
import { isUnknownMethod, type ServerPort } from "../port";
import { FactsForgetRequest, FactsRestoreRequest, FactsListRequest, FactsPinRequest, FactsUpdateRequest, FactsVerifyRequest, type FactInfo, type FactParams } from "../protocol.gen";
import { describe, describePlace, group, type Group } from "./grouping";

/** PROTOCOL.md, `ListFactsParams.limit`. */
const PAGE = 1_000;

/** A fact's id is its folder's, so a node knows its folder. */
interface FactNode {
    readonly fact: FactInfo;
    readonly folderUri: string;
}
interface GroupNode {
    readonly group: Group;
    readonly folder: vscode.WorkspaceFolder;
    /** Whether several folders are open, and the group has to say of which it is. */
    readonly isNamed: boolean;
}
type Node = GroupNode | FactNode;

export class FactsTree implements vscode.TreeDataProvider<Node> {
    static readonly id = "palimpsest.facts";
    private readonly changes = new vscode.EventEmitter<void>();
    readonly onDidChangeTreeData = this.changes.event;
    private view: vscode.TreeView<Node> | undefined;

    constructor(private readonly server: ServerPort) {}

    register(): vscode.Disposable {
        this.view = vscode.window.createTreeView(FactsTree.id, { treeDataProvider: this, showCollapseAll: true });
        return this.view;
    }

    refresh(): void {
        this.changes.fire();
    }

    async act(action: "verify" | "update" | "forget", node: unknown): Promise<void> {
        if (!isFactNode(node)) {
            return;
        }
        const params: FactParams = { factId: node.fact.id, folderUri: node.folderUri };
        switch (action) {
            case "verify":
                await this.server.request(FactsVerifyRequest, params);
                break;
            case "update":
                await this.server.request(FactsUpdateRequest, params);
                break;
            case "forget":
                await this.forget(node.fact, params);
                break;
        }
        this.refresh();
    }

    /** Asks first, and offers to take it back. */
    private async forget({ content, shared }: FactInfo, params: FactParams): Promise<void> {
        if ((await vscode.window.showWarningMessage(FACT_TREE.forgetQuestion(shared), { modal: true, detail: content }, FACT_TREE.forget)) !== FACT_TREE.forget) {
            return;
        }
        await this.server.request(FactsForgetRequest, params);
        void vscode.window.showInformationMessage(asWords(FACT_TREE.forgotten(content)), FACT_TREE.restore).then(async (chosen) => {
            if (chosen === FACT_TREE.restore) {
                await this.server.request(FactsRestoreRequest, params);
                this.refresh();
            }
        });
    }

    /** Keeps what the user says about the lines that are selected, or about the whole file. */
    async pin(): Promise<void> {
        const editor = vscode.window.activeTextEditor;
        if (editor === undefined || vscode.workspace.getWorkspaceFolder(editor.document.uri) === undefined) {
            throw new Error(FACT_TREE.noFile);
        }
        const { selection, document } = editor;
        const content = await vscode.window.showInputBox({ title: FACT_TREE.add, prompt: selection.isEmpty ? FACT_TREE.ofFile : FACT_TREE.ofLines });
        if (content === undefined || content.trim() === "") {
            return;
        }
        // A selection that ends in front of a line does not hold that line.
        const endLine = selection.end.character === 0 && selection.end.line > selection.start.line ? selection.end.line - 1 : selection.end.line;
        const lines = selection.isEmpty ? {} : { startLine: selection.start.line, endLine };
        await this.server.request(FactsPinRequest, { content, fileUri: document.uri.toString(), ...lines });
        this.refresh();
    }

    getTreeItem(node: Node): vscode.TreeItem {
        if (!isFactNode(node)) {
            const item = new vscode.TreeItem(node.isNamed ? `${node.folder.name}: ${node.group.title}` : node.group.title, vscode.TreeItemCollapsibleState.Expanded);
            item.description = String(node.group.facts.length);
            return item;
        }
        const { fact } = node;
        const item = new vscode.TreeItem(fact.content);
        item.description = describe(fact);
        item.tooltip = [fact.content, fact.author === undefined ? "" : FACT_TREE.author(fact.author), fact.quote ?? "", ...fact.sources.map(describePlace)].filter((each) => each !== "").join("\n\n");
        item.contextValue = fact.isStale ? "fact.stale" : "fact";
        item.iconPath = new vscode.ThemeIcon(fact.isStale ? "warning" : fact.factType === "pinned" ? "pinned" : "note");
        item.accessibilityInformation = { label: `${fact.isStale ? FACT_TREE.stale : ""}${fact.content}, ${describe(fact)}` };
        const source = fact.sources[0];
        if (source !== undefined) {
            const line = source.startLine ?? 0;
            const selection = new vscode.Range(line, 0, line, 0);
            item.command = { command: "vscode.open", title: FACT_TREE.openPlace, arguments: [vscode.Uri.parse(source.uri, true), { selection }] };
        }
        return item;
    }

    async getChildren(node?: Node): Promise<Node[]> {
        if (node !== undefined) {
            return isFactNode(node) ? [] : node.group.facts.map((fact) => ({ fact, folderUri: node.folder.uri.toString() }));
        }
        try {
            const folders = vscode.workspace.workspaceFolders ?? [];
            const groups: Node[] = [];
            for (const folder of folders) {
                const { facts } = await this.server.request(FactsListRequest, { folderUri: folder.uri.toString(), limit: PAGE });
                groups.push(...group(facts).map((each) => ({ group: each, folder, isNamed: folders.length > 1 })));
            }
            this.say(groups.length === 0 ? FACT_TREE.none : undefined);
            return groups;
        } catch (error) {
            this.say(isUnknownMethod(error) ? FACT_TREE.unknown : FACT_TREE.unread);
            return [];
        }
    }

    private say(message: string | undefined): void {
        if (this.view !== undefined) {
            this.view.message = message as string;
        }
    }
}

function isFactNode(node: unknown): node is FactNode {
    return typeof node === "object" && node !== null && "fact" in node;
}
