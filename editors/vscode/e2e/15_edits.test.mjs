/** Edits that were accepted stand under their answer: reviewed, taken back with what was typed kept, and brought again by undo. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const PRICES = "RATE = 0.19\n\n\ndef net(price):\n    return price / (1 + RATE)\n";
const STOCK = "STOCK = {}\n";
const edit = (file, old_text, new_text) => ({ name: "propose_edit", arguments: { path: file, edits: [{ old_text, new_text }] } });
const ANSWERS = [
    { text: "", calls: [edit("src/prices.py", "0.19", "0.21"), edit("src/stock.py", "{}", "[]"), { name: "propose_edit", arguments: { path: "src/new.py", content: "NEW = 1\n" } }] },
    { text: "All three are changed." },
];
let lab, model, browser, window;

before(async () => {
    model = await startModel(ANSWERS, 200);
    lab = await startLab("edits", { env: model.env, files: { "src/prices.py": PRICES, "src/stock.py": STOCK } });
    browser = await startBrowser();
    window = await Window.open(browser, lab, undefined, lab.urlOf("src/prices.py"));
    await window.openPanel();
    await window.send("Change them.");
    for (let number = 0; number < 3; number++) {
        await window.panel.getByTestId("approval").getByRole("button", { name: "Accept" }).click();
    }
    await window.panel.getByTestId("messages").getByText("All three are changed.").waitFor({ timeout: 60_000 });
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const changes = () => window.panel.locator(".turn-changes");
const tabs = () => window.page.locator(".editor-group-container .tab");
const shown = async () => (await window.page.locator(".editor-instance .monaco-editor .view-lines").first().innerText()).replaceAll("\u00a0", " ");

test("the files that an answer changed stand under it, and are reviewed in one editor", async () => {
    await changes().getByText("3 files changed").waitFor();
    await window.shot("edits-1-row");
    assert.equal(await window.panel.getByText("may be out of date").count(), 0, "an edit that was accepted makes no fact about it stale");
    await changes().getByRole("button", { name: "Review", exact: true }).click();
    await tabs().filter({ hasText: "Changes of an answer" }).waitFor();
    await window.shot("edits-2-review");
    await window.page.keyboard.press("Control+F4");
});

test("one file is taken back with what was typed in it kept", async () => {
    await tabs().filter({ hasText: "prices.py" }).first().click();
    await window.page.locator(".editor-instance .monaco-editor .view-lines").first().click();
    await window.page.keyboard.press("Control+End");
    await window.page.keyboard.type("# typed\n");
    await until("it was typed", async () => (await shown()).includes("# typed"));
    await changes().locator("summary").click();
    await changes().getByRole("button", { name: "Undo the changes of src/prices.py" }).click();
    await until("the rate is as it was", async () => (await shown()).includes("RATE = 0.19"));
    assert.match(await shown(), /# typed/);
    await changes().getByText("taken back").first().waitFor();
    await window.shot("edits-3-one-taken-back");
});

test("all others are taken back at once, and the file that was made is gone", async () => {
    await changes().getByRole("button", { name: "Undo", exact: true }).click();
    await changes().getByText("3 files changed, taken back").waitFor();
    await until("the new file is gone", () => !existsSync(path.join(lab.folder, "src/new.py")));
    await window.shot("edits-4-all-taken-back");
    await until("the other one is saved as it was", () => lab.read("src/stock.py") === STOCK);
});
