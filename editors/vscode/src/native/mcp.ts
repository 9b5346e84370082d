/** The MCP servers of the open folders: a list to look at, and what can be done with one of them. */
import * as vscode from "vscode";

import type { McpServerInfo, McpServers } from "../protocol.gen";
import * as p from "../protocol.gen";
import type { ServerPort } from "../port";
import { MCP } from "../texts";
import { asWords } from "./words";

const ICONS: Readonly<Record<string, string>> = { off: "circle-slash", unapproved: "question", starting: "loading~spin", ready: "pass", failed: "error" };

interface Row extends vscode.QuickPickItem {
    readonly server: McpServerInfo;
    readonly folder: string;
}

export async function showMcpServers(server: ServerPort): Promise<void> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => ({ folder: folder.uri.toString() }));
    const found = await Promise.all((folders.length === 0 ? [{}] : folders).map((params) => server.request(p.McpServersRequest, params)));
    const rows = found.flatMap(toRows);
    const problems = found.flatMap((each) => each.problems);
    if (problems.length > 0) {
        void vscode.window.showWarningMessage(asWords(problems.join("\n")));
    }
    if (rows.length === 0) {
        void vscode.window.showInformationMessage(MCP.none);
        return;
    }
    const chosen = await vscode.window.showQuickPick(rows, { title: MCP.title, matchOnDescription: true, matchOnDetail: true });
    if (chosen !== undefined) {
        await act(server, chosen);
    }
}

function toRows({ folder, servers }: McpServers): Row[] {
    return servers.map((server) => ({
        label: `$(${ICONS[server.state] ?? "plug"}) ${server.name}`,
        description: `${server.state}, ${server.origin}`,
        detail: [server.state === "ready" ? MCP.offers(server.tools.length, server.resources.length, server.prompts.length) : server.sentence, ...server.problems].join(" "),
        server,
        folder,
    }));
}

async function act(port: ServerPort, { server, folder }: Row): Promise<void> {
    if (server.state === "unapproved") {
        const answer = await vscode.window.showWarningMessage(MCP.asks(server.origin, server.name), { modal: true, detail: server.shown }, MCP.allow, MCP.refuse);
        if (answer !== undefined) {
            await port.request(p.McpApproveRequest, { name: server.name, fingerprint: server.fingerprint, isApproved: answer === MCP.allow, folder });
        }
        return;
    }
    const detail = [server.shown, server.sentence, ...server.problems, ...server.tools].filter((line) => line !== "").join("\n");
    const isRunning = server.state !== "off";
    const answer = await vscode.window.showInformationMessage(`${server.name}: ${server.state}`, { modal: true, detail }, ...(isRunning ? [MCP.restart] : []));
    if (answer === MCP.restart) {
        await port.request(p.McpRestartRequest, { name: server.name, folder });
    }
}
