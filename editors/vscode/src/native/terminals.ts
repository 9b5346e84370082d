/** The newest command of each terminal and what it wrote, by VS Code's shell integration. Kept here until somebody mentions `@terminal`. */
import * as vscode from "vscode";

import type { RunToolResult } from "../protocol.gen";
import { isSilent } from "./shell_marks";

/** Characters of a command's output; at least so many of the last ones are kept. */
const MOST = 200_000;

const SAID = {
    none: "No terminal is open.",
    nothing: "[VS Code told nothing of what it wrote; so it is with some commands that end at once.]",
    unknown: "VS Code does not know what this terminal shows. Run a command in it; if that changes nothing, its shell integration is off (terminal.integrated.shellIntegration.enabled).",
};

interface Command {
    readonly line: string;
    output: string;
    /** Undefined while it runs, and when the shell does not say. */
    status: number | undefined;
    isRunning: boolean;
}

export class Terminals implements vscode.Disposable {
    private readonly newest = new WeakMap<vscode.Terminal, Command>();
    private readonly commands = new WeakMap<vscode.TerminalShellExecution, Command>();
    private readonly listening: vscode.Disposable;

    constructor() {
        this.listening = vscode.Disposable.from(
            vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => void this.follow(terminal, execution)),
            vscode.window.onDidEndTerminalShellExecution(({ execution, exitCode }) => {
                const command = this.commands.get(execution);
                if (command !== undefined) {
                    command.status = exitCode;
                    command.isRunning = false;
                }
            }),
        );
    }

    dispose(): void {
        this.listening.dispose();
    }

    /** What the terminal that was used last shows. The server takes out what colors it. */
    read(): RunToolResult {
        const terminal = vscode.window.activeTerminal;
        const command = terminal === undefined ? undefined : this.newest.get(terminal);
        if (command === undefined) {
            return { text: terminal === undefined ? SAID.none : SAID.unknown, isError: true };
        }
        const wrote = isSilent(command.output) ? SAID.nothing : command.output.trimEnd();
        const end = command.isRunning ? "\n[still running]" : command.status === undefined || command.status === 0 ? "" : `\n[exit status ${command.status}]`;
        return { text: `$ ${command.line}\n${wrote}${end}` };
    }

    private async follow(terminal: vscode.Terminal, execution: vscode.TerminalShellExecution): Promise<void> {
        const command: Command = { line: execution.commandLine.value, output: "", status: undefined, isRunning: true };
        this.newest.set(terminal, command);
        this.commands.set(execution, command);
        for await (const data of execution.read()) {
            command.output += data;
            if (command.output.length > 2 * MOST) {
                command.output = command.output.slice(-MOST);
            }
        }
    }
}

/**
 * What is selected in the terminal that was used last; empty where nothing is. VS Code tells it by copying alone, so the clipboard's text is put
 * back, and a picture in it is lost. That is done for a command of its own only, and not for each `@terminal`.
 */
export async function terminalSelection(): Promise<string> {
    const { clipboard } = vscode.env;
    const before = await clipboard.readText();
    try {
        await clipboard.writeText(""); // else what was copied before would be taken for the selection
        await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
        return await clipboard.readText();
    } finally {
        await clipboard.writeText(before);
    }
}
