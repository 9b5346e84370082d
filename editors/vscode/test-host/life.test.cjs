/** The extension comes up with the window, with all its commands, and the server's with them. */
"use strict";
const assert = require("node:assert/strict");
const vscode = require("vscode");
const { factsOfServer, until } = require("./wait.cjs");

suite("the extension in its host", () => {
    test("it is active without anybody's doing", async () => {
        const extension = vscode.extensions.getExtension("palimpsest.palimpsest");
        assert.notEqual(extension, undefined);
        await until(() => extension.isActive);
    });

    test("each command of the manifest is there", async () => {
        const { packageJSON } = vscode.extensions.getExtension("palimpsest.palimpsest");
        const there = new Set(await vscode.commands.getCommands(true));
        assert.deepEqual(packageJSON.contributes.commands.map(({ command }) => command).filter((command) => !there.has(command)), []);
    });

    test("the server answers a command of its own", async () => {
        assert.match(await factsOfServer(), /^# Facts of shop/);
    });
});
