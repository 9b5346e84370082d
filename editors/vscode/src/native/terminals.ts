/** The newest command of each terminal and what it wrote, by VS Code's shell integration. Kept here until somebody mentions `@terminal`. */
import * as vscode from "vscode";

import type { RunToolResult } from "../protocol.gen";

/** Characters of a command's output; the last ones are kept. */
const MOST = 200_000;

const SAID = {
    none: "No terminal is open.",
    nothing: "[VS Code told nothing of what it wrote; so it is with some commands that end at once.]",
    unknown: "VS Code does not know what this terminal shows. Run a command in it; if that changes nothing, its shell integration is off (terminal.integrated.shellIntegration.enabled).",
};

/** What the shell tells VS Code between what it writes (OSC 633). */
const MARKS = new RegExp(String.raw`\u001b\][^\u0007]*\u0007`, "g");

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
        const wrote = command.output.replaceAll(MARKS, "").trim() === "" ? SAID.nothing : command.output.trimEnd();
        const end = command.isRunning ? "\n[still running]" : command.status === undefined || command.status === 0 ? "" : `\n[exit status ${command.status}]`;
        return { text: `$ ${command.line}\n${wrote}${end}` };
    }

    private async follow(terminal: vscode.Terminal, execution: vscode.TerminalShellExecution): Promise<void> {
        const command: Command = { line: execution.commandLine.value, output: "", status: undefined, isRunning: true };
        this.newest.set(terminal, command);
        this.commands.set(execution, command);
        for await (const data of execution.read()) {
            command.output = (command.output + data).slice(-MOST);
        }
    }
}
