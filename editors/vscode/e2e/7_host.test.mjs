/** The tests of `test-host` inside the extension host: what the extension is to other extensions and to VS Code itself. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { format } from "node:util";

import { E2E_PYTHON, startLab, startModel } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const EXTENSION = path.resolve(import.meta.dirname, "..");
const SOURCE = "RATE = 0.19\n\n\ndef gross(net):\n    return net * (1 + RATE)\n";
const LIMIT_MS = 300_000;
let lab, model, browser;

before(async () => {
    model = await startModel([], 200);
    const pin = ["facts", "pin", "--at", "src/prices.py:4-5", "Gross", "prices", "have", "tax."];
    lab = await startLab("host", {
        env: model.env,
        files: { "src/prices.py": SOURCE },
        smoke: true,
        before: ({ folder, environment }) => execFileSync(E2E_PYTHON, ["-P", "-m", "palimpsest", ...pin], { cwd: folder, env: environment }),
    });
    browser = await startBrowser();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

test("every test inside the extension host passes", async () => {
    const remote = (file) => `vscode-remote://127.0.0.1:${lab.port}${file}`;
    const payload = [["extensionDevelopmentPath", remote(EXTENSION)], ["extensionTestsPath", remote(path.join(EXTENSION, "test-host/index.cjs"))], ["skipWelcome", "true"]];
    const lines = [];
    let end;
    const ended = new Promise((resolve) => { end = resolve; });
    const page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
    await page.exposeFunction("codeAutomationExit", (code) => { end(code); });
    await page.exposeFunction("codeAutomationLog", (_type, args) => { lines.push(format(...args)); });
    const limit = setTimeout(() => { end("none in time"); }, LIMIT_MS);
    try {
        await page.goto(`${lab.url}&payload=${encodeURIComponent(JSON.stringify(payload))}`);
        const code = await ended;
        if (code !== 0) {
            await new Window(page, lab).shot("failed-host");
        }
        // What VS Code itself says stands among what mocha says; from the first failure on all of it is shown.
        const failing = lines.findIndex((line) => /^\s+\d+ failing/.test(line));
        console.log(lines.filter((line, index) => /^\s+(✔|\d+\)|\d+ passing)/.test(line) || (failing !== -1 && index >= failing)).join("\n"));
        assert.equal(code, 0, `exit code ${code}`);
    } finally {
        clearTimeout(limit);
    }
});
