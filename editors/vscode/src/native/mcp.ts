/** The MCP servers of the open folders: a list to look at, and what can be done with one of them. */
import * as vscode from "vscode";

import type { McpServerInfo, McpServers } from "../protocol.gen";
import * as p from "../protocol.gen";
import type { ServerPort } from "../port";

const ICONS: Readonly<Record<string, string>> = { off: "circle-slash", unapproved: "question", starting: "loading~spin", ready: "pass", failed: "error" };
const TEXTS = {
    title: "MCP servers",
    none: "No MCP server is configured. Name one in config.toml, as [mcp.NAME] with a command or a url.",
    offers: (server: McpServerInfo) => `${server.tools.length} tools, ${server.resources.length} resources, ${server.prompts.length} prompts`,
    asks: (server: McpServerInfo) => `${server.origin} of this folder would start the MCP server ${server.name}. Allow exactly this?`,
    allow: "Allow",
    refuse: "Refuse",
    restart: "Restart",
};

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
        void vscode.window.showWarningMessage(problems.join("\n"));
    }
    if (rows.length === 0) {
        void vscode.window.showInformationMessage(TEXTS.none);
        return;
    }
    const chosen = await vscode.window.showQuickPick(rows, { title: TEXTS.title, matchOnDescription: true, matchOnDetail: true });
    if (chosen !== undefined) {
        await act(server, chosen);
    }
}

function toRows({ folder, servers }: McpServers): Row[] {
    return servers.map((server) => ({
        label: `$(${ICONS[server.state] ?? "plug"}) ${server.name}`,
        description: `${server.state}, ${server.origin}`,
        detail: [server.state === "ready" ? TEXTS.offers(server) : server.sentence, ...server.problems].join(" "),
        server,
        folder,
    }));
}

async function act(port: ServerPort, { server, folder }: Row): Promise<void> {
    if (server.state === "unapproved") {
        const answer = await vscode.window.showWarningMessage(TEXTS.asks(server), { modal: true, detail: server.shown }, TEXTS.allow, TEXTS.refuse);
        if (answer !== undefined) {
            await port.request(p.McpApproveRequest, { name: server.name, fingerprint: server.fingerprint, isApproved: answer === TEXTS.allow, folder });
        }
        return;
    }
    const detail = [server.shown, server.sentence, ...server.problems, ...server.tools].filter((line) => line !== "").join("\n");
    const isRunning = server.state !== "off";
    const answer = await vscode.window.showInformationMessage(`${server.name}: ${server.state}`, { modal: true, detail }, ...(isRunning ? [TEXTS.restart] : []));
    if (answer === TEXTS.restart) {
        await port.request(p.McpRestartRequest, { name: server.name, folder });
    }
}
