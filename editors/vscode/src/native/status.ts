/** The item in the status bar: how full the context of the conversation last heard of is. */
import * as vscode from "vscode";

import { describeHub } from "../hub";
import type { ContextUsage, HubStatus } from "../protocol.gen";

const COLOURS = { green: undefined, yellow: "statusBarItem.warningBackground", red: "statusBarItem.errorBackground" } as const;

export class StatusItem implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem("palimpsest.usage", vscode.StatusBarAlignment.Right, 90);

    private words = "";
    private hubWords = "";

    constructor() {
        this.item.name = "Palimpsest";
        this.item.command = "palimpsest.explainContext";
        this.phase("The server is starting.");
        this.item.show();
    }

    phase(sentence: string): void {
        this.item.text = sentence === "" ? "$(book) Palimpsest" : "$(loading~spin) Palimpsest";
        this.tooltip(sentence);
        this.item.accessibilityInformation = undefined;
        this.item.backgroundColor = undefined;
    }

    stopped(sentence: string): void {
        this.phase(sentence);
        this.item.text = "$(error) Palimpsest";
    }

    show(usage: ContextUsage): void {
        this.item.text = `$(book) ${usage.compact}`;
        this.tooltip(`${usage.model}: ${usage.usedTokens.toLocaleString("en")} of ${usage.budgetTokens.toLocaleString("en")} tokens`);
        this.item.accessibilityInformation = { label: `Palimpsest context ${usage.compact}, ${usage.severity}` };
        const colour = COLOURS[usage.severity];
        this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    }

    /** How the way to the hub is, as a second line of the tooltip. */
    hub(status: HubStatus): void {
        this.hubWords = describeHub(status);
        this.tooltip(this.words);
    }

    private tooltip(words: string): void {
        this.words = words;
        this.item.tooltip = [words, this.hubWords].filter((each) => each !== "").join("\n");
    }

    dispose(): void {
        this.item.dispose();
    }
}
