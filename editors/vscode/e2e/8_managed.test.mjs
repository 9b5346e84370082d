/** Without any setting the extension makes an environment for the server, once, and says what it does meanwhile. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { E2E_WHEELS, startLab } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

let lab, browser, window;

before(async () => {
    // pip finds everything in a folder: nothing is downloaded.
    lab = await startLab("managed", { managed: true, env: { PIP_NO_INDEX: "1", PIP_FIND_LINKS: E2E_WHEELS }, files: { "README.md": "# Shop\n\nIt sells lamps.\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
});

after(async () => {
    await browser?.close();
    await lab?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const storage = () => path.join(lab.root, "user/User/globalStorage/palimpsest.palimpsest");
const environments = () => readdirSync(storage()).filter((name) => name.startsWith("server-"));
const ready = () => path.join(storage(), environments()[0] ?? "", "ready");

test("the first window sets up the server, and a conversation works", async () => {
    await window.page.getByRole("tab", { name: "Palimpsest" }).first().click();
    await window.page.locator(".notification-list-item", { hasText: "Setting up, about 20 seconds" }).waitFor();
    await window.panelReady(240_000);
    assert.ok(existsSync(ready()));
    await window.send("What does the shop sell?");
    assert.match(await (await window.answered(1)).textContent(), /It sells lamps/);
    assert.equal(lab.servers().length, 1);
});

test("what MCP servers need is offered where it is missing, and the server is started again with it", async () => {
    const plain = environments();
    const settings = path.join(lab.home, "config/palimpsest");
    mkdirSync(settings, { recursive: true });
    writeFileSync(path.join(settings, "config.toml"), '[mcp.lamps]\ncommand = "no-such-program"\n');
    await window.page.reload();
    await window.panelReady();
    const lack = window.page.locator(".notification-list-item", { hasText: "MCP servers need a part that is not installed" });
    await lack.getByRole("button", { name: "Install" }).click();
    await window.page.locator(".notification-list-item", { hasText: "are supported now" }).waitFor({ timeout: 240_000 });
    await window.panelReady();
    const [added] = environments().filter((each) => !plain.includes(each));
    const python = path.join(storage(), added, "bin/python");
    execFileSync(python, ["-I", "-c", "import mcp, psycopg, trafilatura, palimpsest.mcp_client.connection"]);
    assert.equal(lab.servers().length, 1);
    await window.send("What does the shop sell?");
    assert.match(await (await window.answered(3)).textContent(), /It sells lamps/);
});

test("a later window finds it as it is, and an older one is removed", async () => {
    const kept = environments();
    const old = path.join(storage(), "server-0123456789abcdef");
    mkdirSync(old);
    utimesSync(old, 0, 0);
    const made = statSync(path.join(storage(), kept[0], "ready")).mtimeMs;
    await window.page.reload();
    await window.panelReady();
    assert.deepEqual(environments(), kept);
    await window.panel.getByTestId("message-1").waitFor();
    assert.equal(statSync(ready()).mtimeMs, made);
});
