/** The item in the status bar: how full the context of the conversation last heard of is. */
import * as vscode from "vscode";

import type { ContextUsage } from "../protocol.gen";

const COLOURS = { green: undefined, yellow: "statusBarItem.warningBackground", red: "statusBarItem.errorBackground" } as const;

export class StatusItem implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem("palimpsest.usage", vscode.StatusBarAlignment.Right, 90);

    constructor() {
        this.item.name = "Palimpsest";
        this.item.command = "palimpsest.explainContext";
        this.phase("The server is starting.");
        this.item.show();
    }

    phase(sentence: string): void {
        this.item.text = sentence === "" ? "$(book) Palimpsest" : "$(loading~spin) Palimpsest";
        this.item.tooltip = sentence;
        this.item.accessibilityInformation = undefined;
        this.item.backgroundColor = undefined;
    }

    stopped(sentence: string): void {
        this.phase(sentence);
        this.item.text = "$(error) Palimpsest";
    }

    show(usage: ContextUsage): void {
        this.item.text = `$(book) ${usage.compact}`;
        this.item.tooltip = `${usage.model}: ${usage.usedTokens.toLocaleString("en")} of ${usage.budgetTokens.toLocaleString("en")} tokens`;
        this.item.accessibilityInformation = { label: `Palimpsest context ${usage.compact}, ${usage.severity}` };
        const colour = COLOURS[usage.severity];
        this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    }

    dispose(): void {
        this.item.dispose();
    }
}
