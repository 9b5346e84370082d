/** A webview with a text field and nothing else. */
"use strict";
const vscode = require("vscode");

exports.activate = (context) => {
    const provider = {
        resolveWebviewView: ({ webview }) => {
            // Nothing of it runs: whoever measures listens in it.
            webview.options = { enableScripts: true };
            webview.html = "<!DOCTYPE html><html lang=\"en\"><title>Blank</title><body><textarea data-testid=\"composer\" aria-label=\"Message\" rows=\"2\"></textarea></body></html>";
        },
    };
    context.subscriptions.push(vscode.window.registerWebviewViewProvider("blank.view", provider));
};
