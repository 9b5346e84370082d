/** A linter of somebody else's: each `eighteen` in a file is a problem. */
"use strict";
const vscode = require("vscode");

exports.activate = (context) => {
    const problems = vscode.languages.createDiagnosticCollection("lint");
    const look = (document) => {
        const found = [...document.getText().matchAll(/eighteen/g)].map(({ index }) => {
            const place = new vscode.Range(document.positionAt(index), document.positionAt(index + 8));
            const problem = new vscode.Diagnostic(place, "Write 18.", vscode.DiagnosticSeverity.Error);
            problem.source = "lint";
            problem.code = "L18";
            return problem;
        });
        problems.set(document.uri, found);
    };
    vscode.workspace.textDocuments.forEach(look);
    context.subscriptions.push(problems, vscode.workspace.onDidOpenTextDocument(look), vscode.workspace.onDidChangeTextDocument((event) => look(event.document)));
};
