/** `@palimpsest` in VS Code's own Chat view, and the settings of the editor at the server. */
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const vscode = require("vscode");
const { factsOfServer, until } = require("./wait.cjs");

/** Says it in a chat of its own; the result that the participant gave. */
async function ask(text) {
    await vscode.commands.executeCommand("workbench.action.chat.newChat");
    return vscode.commands.executeCommand("workbench.action.chat.open", { query: `@palimpsest ${text}`, blockOnResponse: true });
}

suite("VS Code's own chat", () => {
    suiteSetup(async () => {
        await factsOfServer();
        await until(async () => (await vscode.lm.selectChatModels({ vendor: "palimpsest" })).length > 0);
    });

    test("the participant answers in a conversation that is kept", async () => {
        const result = await ask("list 3");
        assert.equal(result.errorDetails, undefined);
        assert.match(result.metadata.conversationId, /\w/);
    });

    test("a model of the server answers whoever asks VS Code for one", async () => {
        const [model] = await vscode.lm.selectChatModels({ vendor: "palimpsest" });
        const answer = await model.sendRequest([vscode.LanguageModelChatMessage.User("list 4")], {}, new vscode.CancellationTokenSource().token);
        let text = "";
        for await (const piece of answer.text) {
            text += piece;
        }
        assert.match(text, /Item 4 of 4/);
    });

    test("what is set in the editor holds at the server", async () => {
        const settings = vscode.workspace.getConfiguration("palimpsest");
        assert.equal(await modelOf((await ask("list 2")).metadata.conversationId), "gpt-4o");
        await settings.update("model", "offline", vscode.ConfigurationTarget.Workspace);
        try {
            await until(async () => (await modelOf((await ask("prices")).metadata.conversationId)) === "offline");
        } finally {
            await settings.update("model", undefined, vscode.ConfigurationTarget.Workspace);
        }
    });
});

/** What the conversation's export says of it: the command line reads the same store. */
async function modelOf(conversationId) {
    const python = vscode.workspace.getConfiguration("palimpsest.server").get("python");
    const [folder] = vscode.workspace.workspaceFolders;
    const exported = execFileSync(python, ["-P", "-m", "palimpsest", "export", "--folder", folder.uri.fsPath, conversationId], { encoding: "utf8" });
    return JSON.parse(exported.split("\n")[0]).model;
}
