/** Tests inside the extension host of a real VS Code, which asks this module for them; `e2e/7_host.test.mjs` starts it. */
"use strict";
const { readdirSync } = require("node:fs");
const path = require("node:path");
const Mocha = require("../e2e/node_modules/mocha");

exports.run = async () => {
    const mocha = new Mocha({ ui: "tdd", timeout: 90_000, color: false });
    for (const file of readdirSync(__dirname).filter((each) => each.endsWith(".test.cjs")).sort()) {
        mocha.addFile(path.join(__dirname, file));
    }
    const failures = await new Promise((resolve) => { mocha.run(resolve); });
    if (failures > 0) {
        throw new Error(`${failures} tests failed in the extension host.`);
    }
};
