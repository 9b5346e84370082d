/** Tools that this editor brings: what only it knows of the code. They read and change nothing. */
import * as v from "valibot";
import * as vscode from "vscode";

import type { EditorToolInfo, RunToolParams, RunToolResult } from "../protocol.gen";
import type { Terminals } from "./terminals";

const MOST = 100;
const path = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));
const line = v.pipe(v.number(), v.integer(), v.minValue(1));
const filePath = { type: "string", description: "Below the workspace folder, with /." };

const TOOLS = {
    problems: {
        description: "The problems that the editor's language tools report, of one file or of all open ones.",
        parameters: { type: "object", properties: { path: filePath }, additionalProperties: false },
        schema: v.strictObject({ path: v.exactOptional(path) }),
    },
    symbols: {
        description: "The symbols whose names match, anywhere in the workspace, according to the editor's language tools.",
        parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"], additionalProperties: false },
        schema: v.strictObject({ query: v.pipe(v.string(), v.maxLength(200)) }),
    },
    references: {
        description: "Every place that refers to the symbol at a line and column (both from 1) of a file.",
        parameters: { type: "object", properties: { path: filePath, line: { type: "integer" }, column: { type: "integer" } }, required: ["path", "line", "column"], additionalProperties: false },
        schema: v.strictObject({ path, line, column: line }),
    },
} as const;
/** What only the user's mention `@terminal` reads: no model knows of it. */
const TERMINAL: EditorToolInfo = { name: "terminal", description: "What the terminal shows.", parameters: {}, isReadOnly: true, forMentions: true };

export const TOOL_INFOS: EditorToolInfo[] = [...Object.entries(TOOLS).map(([name, { description, parameters }]) => ({ name, description, parameters, isReadOnly: true })), TERMINAL];

export async function runTool({ name, arguments: given }: RunToolParams, terminals: Terminals): Promise<RunToolResult> {
    try {
        switch (name) {
            case "problems":
                return said(problems(v.parse(TOOLS.problems.schema, given).path));
            case "symbols":
                return said(await symbols(v.parse(TOOLS.symbols.schema, given).query));
            case "references": {
                const place = v.parse(TOOLS.references.schema, given);
                return said(await references(place.path, new vscode.Position(place.line - 1, place.column - 1)));
            }
            case TERMINAL.name:
                return terminals.read();
            default:
                return { text: `This editor has no tool ${name}.`, isError: true };
        }
    } catch (error) {
        return { text: error instanceof Error ? error.message : "The tool failed.", isError: true };
    }
}

function said(lines: readonly string[]): RunToolResult {
    const rest = lines.length > MOST ? [`… and ${lines.length - MOST} more`] : [];
    return { text: lines.length === 0 ? "Nothing was found." : [...lines.slice(0, MOST), ...rest].join("\n") };
}

function problems(of: string | undefined): string[] {
    const wanted = of === undefined ? undefined : locate(of).toString();
    return vscode.languages.getDiagnostics().flatMap(([uri, each]) =>
        (wanted === undefined ? vscode.workspace.getWorkspaceFolder(uri) === undefined : uri.toString() !== wanted)
            ? []
            : each.map((d) => `${place(uri, d.range.start)}: ${vscode.DiagnosticSeverity[d.severity].toLowerCase()}: ${d.message}`),
    );
}

async function symbols(query: string): Promise<string[]> {
    const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
    return (found ?? []).filter((s) => isInside(s.location.uri)).map((s) => `${place(s.location.uri, s.location.range.start)}: ${vscode.SymbolKind[s.kind].toLowerCase()} ${s.name}`);
}

async function references(file: string, position: vscode.Position): Promise<string[]> {
    const found = await vscode.commands.executeCommand<vscode.Location[] | undefined>("vscode.executeReferenceProvider", locate(file), position);
    return (found ?? []).filter((each) => isInside(each.uri)).map((each) => place(each.uri, each.range.start));
}

function isInside(uri: vscode.Uri): boolean {
    return vscode.workspace.getWorkspaceFolder(uri) !== undefined;
}

function locate(file: string): vscode.Uri {
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
        const uri = vscode.Uri.joinPath(folder.uri, file);
        if (uri.path.startsWith(`${folder.uri.path.replace(/\/$/, "")}/`)) {
            return uri;
        }
    }
    throw new Error(`${file} is not in the workspace.`);
}

function place(uri: vscode.Uri, position: vscode.Position): string {
    return `${vscode.workspace.asRelativePath(uri, false)}:${position.line + 1}:${position.character + 1}`;
}
