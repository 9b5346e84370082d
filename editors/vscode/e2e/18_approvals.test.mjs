/** Many questions in one answer, and one that stands while the window is loaded again. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const N_FILES = 200;
const PER_ANSWER = 100;
const make = (file, content) => ({ name: "propose_edit", arguments: { path: file, content } });
const ANSWERS = [
    { text: "", calls: Array.from({ length: PER_ANSWER }, (_, n) => make(`made/part_${n}.py`, `N = ${n}\n`)) },
    { text: "", calls: Array.from({ length: PER_ANSWER }, (_, n) => make(`made/part_${PER_ANSWER + n}.py`, `N = ${PER_ANSWER + n}\n`)) },
    { text: "All are made." },
    { text: "", calls: [make("waits.py", "y = 1\n")] },
    { text: "Done after all." },
];
let lab, model, browser, window;

before(async () => {
    model = await startModel(ANSWERS, 60);
    lab = await startLab("approvals", { env: model.env, files: { "src/prices.py": "RATE = 0.19\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab, undefined, lab.urlOf("src/prices.py"));
    await window.openPanel();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const card = () => window.panel.getByTestId("approval");
const made = () => (existsSync(path.join(lab.folder, "made")) ? readdirSync(path.join(lab.folder, "made")) : []);

test("of two hundred edits the first are answered one by one, and the rest at once", async () => {
    await window.send("Make them.");
    for (let number = 0; number < 3; number++) {
        await card().getByText(`part_${number}.py`).first().waitFor();
        await card().getByRole("button", { name: "Accept" }).click();
    }
    await card().getByText("part_3.py").first().waitFor();
    await card().getByRole("button", { name: "Reject" }).click();
    await card().getByText("part_4.py").first().waitFor();
    await window.shot("approvals-many");
    await card().getByRole("button", { name: "More" }).click();
    await window.panel.getByRole("menuitem", { name: "Accept all edits of this answer" }).click();
    await window.panel.getByTestId("messages").getByText("All are made.").waitFor({ timeout: 180_000 });
    assert.equal(await card().count(), 0);
    await until("all files but the rejected one are there", () => made().length === N_FILES - 1);
    for (const n of [0, 4, N_FILES - 1]) {
        await until(`file ${n} is saved`, () => lab.read(`made/part_${n}.py`) === `N = ${n}\n`);
    }
    await window.panel.locator(".turn-changes").getByText(`${N_FILES - 1} files changed`).waitFor();
    await window.shot("approvals-made");
});

test("two hundred edits are taken back at once", async () => {
    await window.panel.locator(".turn-changes").getByRole("button", { name: "Undo", exact: true }).click();
    await window.panel.locator(".turn-changes").getByText("taken back").first().waitFor({ timeout: 120_000 });
    await until("the files are gone", () => made().length === 0);
});

test("a question that stands while the window is loaded again ends with the answer, nothing is changed, and the answer can be gone on with", async () => {
    await window.send("Ask me.");
    await card().waitFor();
    await window.page.reload();
    await window.panelReady();
    const broken = window.panel.getByTestId("recovery");
    await broken.getByText("“Changed waits.py” was not done.").waitFor();
    await window.panel.getByText("All are made.").waitFor();
    assert.equal(await window.panel.getByText("Failed", { exact: true }).count(), 1, "results stand with their calls");
    assert.equal(await card().count(), 0);
    assert.equal(existsSync(path.join(lab.folder, "waits.py")), false);
    await window.shot("approvals-reloaded");
    await broken.getByRole("button", { name: "Continue" }).click();
    await window.panel.getByTestId("messages").getByText("Done after all.").waitFor();
});
