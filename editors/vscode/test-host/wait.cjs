/** Waiting for what VS Code says of itself. Mocha's time limit ends a wait that is in vain. */
"use strict";
const vscode = require("vscode");

/** The first true value of `look`, which is asked at once and after each event. */
exports.first = async (event, look) => {
    let subscription;
    try {
        return await new Promise((resolve, reject) => {
            const ask = () => {
                Promise.resolve(look()).then((value) => { if (value) { resolve(value); } }, reject);
            };
            subscription = event(ask);
            ask();
        });
    } finally {
        subscription.dispose();
    }
};

/** The first true value of `look`, where nothing tells of a change. */
exports.until = async (look) => {
    for (;;) {
        const value = await look();
        if (value) {
            return value;
        }
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
};

/** What the server says of the facts of the folder, as soon as it runs. */
exports.factsOfServer = async () => {
    await exports.until(async () => (await vscode.commands.getCommands(true)).includes("palimpsest.facts.show"));
    const [folder] = vscode.workspace.workspaceFolders;
    return vscode.commands.executeCommand("palimpsest.facts.show", { folderUri: folder.uri.toString() });
};
