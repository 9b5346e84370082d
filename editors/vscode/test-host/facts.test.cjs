/** A fact that was kept before the window opened: an edit of its lines is a warning with something to do about it. */
"use strict";
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { first, until } = require("./wait.cjs");

suite("facts", () => {
    let document;

    suiteSetup(async () => {
        const [folder] = vscode.workspace.workspaceFolders;
        document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder.uri, "src", "prices.py"));
        await vscode.window.showTextDocument(document);
    });

    const warnings = () => vscode.languages.getDiagnostics(document.uri).filter((each) => each.source === "palimpsest");

    test("lines that are as they were have a lens and no warning", async () => {
        const lenses = await until(async () => {
            const found = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", document.uri);
            return found.length > 0 ? found : undefined;
        });
        assert.equal(lenses[0].command.title, "1 fact");
        assert.deepEqual(warnings(), []);
    });

    test("an edit of the lines is a warning that names the fact", async () => {
        const edit = new vscode.WorkspaceEdit();
        const line = [...Array(document.lineCount).keys()].find((n) => document.lineAt(n).text.includes("return net"));
        edit.insert(document.uri, document.lineAt(line).range.end, " - 1");
        assert.equal(await vscode.workspace.applyEdit(edit), true);
        const [warning] = await first(vscode.languages.onDidChangeDiagnostics, () => (warnings().length > 0 ? warnings() : undefined));
        assert.equal(warning.severity, vscode.DiagnosticSeverity.Warning);
        assert.match(warning.message, /Gross prices have tax/);
    });

    test("the warning can be settled where it stands", async () => {
        // A fact holds of a file as it is on disk.
        assert.equal(await document.save(), true);
        const [{ range }] = warnings();
        // VS Code's own chat offers quick fixes for any warning, too.
        const offered = async (kind) => (await vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, range, kind))
            .filter(({ command }) => command?.command.startsWith("palimpsest."));
        const titles = (await offered()).map((each) => each.title);
        for (const what of ["Mark as still true", "Update from file", "Forget fact"]) {
            assert.ok(titles.some((each) => each.startsWith(what)), titles.join());
        }
        // What is carried out with all other quick fixes removes nothing.
        const actions = await offered(vscode.CodeActionKind.QuickFix.value);
        assert.deepEqual(actions.map((each) => each.title.split(":")[0]), ["Mark as still true"]);
        const { command } = actions.find((each) => each.title.startsWith("Mark as still true"));
        await vscode.commands.executeCommand(command.command, ...command.arguments);
        await first(vscode.languages.onDidChangeDiagnostics, () => warnings().length === 0);
    });
});
