/** Without any setting the extension makes an environment for the server, once, and says what it does meanwhile. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
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

test("a later window finds it as it is, and an older one is removed", async () => {
    const kept = environments();
    mkdirSync(path.join(storage(), "server-0123456789abcdef"));
    const made = statSync(path.join(storage(), kept[0], "ready")).mtimeMs;
    await window.page.reload();
    await window.panelReady();
    assert.deepEqual(environments(), kept);
    await window.panel.getByTestId("message-1").waitFor();
    assert.equal(statSync(ready()).mtimeMs, made);
});
