/** The item in the status bar: how full the model's window is in the conversation that is shown. */
import * as vscode from "vscode";

import { describeHub } from "../hub";
import type { FromHost } from "../messages";
import type { ContextUsage, ConversationInfo } from "../protocol.gen";
import { START, STATUS } from "../texts";

const COLOURS = { green: undefined, yellow: "statusBarItem.warningBackground", red: "statusBarItem.errorBackground" } as const;

export class StatusItem implements vscode.Disposable {
    private readonly item = vscode.window.createStatusBarItem("palimpsest.usage", vscode.StatusBarAlignment.Right, 90);

    private words = "";
    private hubWords = "";
    private title = "";
    private usage: ContextUsage | undefined;

    constructor() {
        this.item.name = STATUS.name;
        this.item.command = "palimpsest.explainContext";
        this.phase(START.starting);
        this.item.show();
    }

    /** What the panel is told of the conversation that it shows. */
    heard(message: FromHost): void {
        if (message.type === "opened") {
            this.usage = undefined;
            this.conversation(message.conversation);
        } else if (message.type === "conversation") {
            this.conversation(message.conversation);
        } else if (message.type === "usage") {
            this.usage = message.usage;
            this.show();
        } else if (message.type === "hub") {
            this.hubWords = describeHub(message.status);
            this.tooltip(this.words);
        }
    }

    phase(sentence: string): void {
        if (sentence === "" && this.usage !== undefined) {
            this.show();
            return;
        }
        this.item.text = sentence === "" ? "$(book) Palimpsest" : "$(loading~spin) Palimpsest";
        this.tooltip(sentence);
        this.item.accessibilityInformation = undefined;
        this.item.backgroundColor = undefined;
    }

    stopped(sentence: string): void {
        this.usage = undefined;
        this.phase(sentence);
        this.item.text = "$(error) Palimpsest";
    }

    private conversation(conversation: ConversationInfo | undefined): void {
        this.title = conversation === undefined ? STATUS.newConversation : conversation.title === "" ? "Untitled" : `“${conversation.title}”`;
        if (this.usage === undefined) {
            this.phase("");
        } else {
            this.show();
        }
    }

    private show(): void {
        if (this.usage === undefined) {
            return;
        }
        const { percentage, usedTokens, budgetTokens, severity } = this.usage;
        this.item.text = `$(book) ${Math.round(percentage)}%`;
        const words = STATUS.tooltip(usedTokens, budgetTokens, this.title);
        this.tooltip(words);
        this.item.accessibilityInformation = { label: words };
        const colour = COLOURS[severity];
        this.item.backgroundColor = colour === undefined ? undefined : new vscode.ThemeColor(colour);
    }

    /** How the way to the hub is, is a second line. */
    private tooltip(words: string): void {
        this.words = words;
        this.item.tooltip = [words, this.hubWords].filter((each) => each !== "").join("\n");
    }

    dispose(): void {
        this.item.dispose();
    }
}
