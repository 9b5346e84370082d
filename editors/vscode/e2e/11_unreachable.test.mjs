/** The first start behind a proxy that does not answer says so, and works as soon as it does; then it needs no network. */
import assert from "node:assert/strict";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { E2E_WHEELS, startLab } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

let lab, browser, window;

const settings = () => path.join(lab.root, "pip.conf");
const packages = () => path.join(lab.root, "packages");

before(async () => {
    lab = await startLab("unreachable", {
        managed: true,
        env: { PIP_CONFIG_FILE: "", PIP_INDEX_URL: "https://index.invalid/simple", HTTPS_PROXY: "http://127.0.0.1:9", https_proxy: "http://127.0.0.1:9" },
        files: { "README.md": "# Shop\n\nIt sells lamps.\n" },
        before: (made) => {
            made.options.env.PIP_CONFIG_FILE = path.join(made.root, "pip.conf");
            made.options.env.PIP_FIND_LINKS = path.join(made.root, "packages");
            writeFileSync(path.join(made.root, "pip.conf"), "");
        },
    });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.page.getByRole("tab", { name: "Palimpsest" }).first().click();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
});

afterEach((context) => window.shotOfFailure(context));

test("a proxy that does not answer is named, and another try works when it does", async () => {
    const card = window.panel.getByTestId("server");
    await card.getByText("the proxy does not answer").waitFor({ timeout: 120_000 });
    await window.shot("unreachable-1-proxy");
    // The packages can be had again: from a folder, in the place of the network.
    symlinkSync(E2E_WHEELS, packages());
    writeFileSync(settings(), "[global]\nno-index = true\n");
    await card.getByRole("button", { name: "Try again" }).click();
    await window.panelReady(240_000);
    await window.send("What does the shop sell?");
    assert.match(await (await window.answered(1)).textContent(), /It sells lamps/);
});

test("after the first time no network is needed", async () => {
    writeFileSync(settings(), "");
    rmSync(packages());
    await window.page.reload();
    await window.panelReady();
    await window.panel.getByTestId("message-1").waitFor();
    await window.shot("unreachable-2-again");
});
