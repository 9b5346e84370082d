/** Code of an answer becomes a change in the diff editor: placed, accepted, taken back, discarded, refused; shell code waits in a terminal. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const PRICES = `"""Prices."""

RATE = 0.19


def net(price):
    return price / (1 + RATE)


def gross(price):
    """With tax."""
    return price * (1 + RATE)
`;
const fence = (info, code) => `Like this:\n\n\`\`\`${info}\n${code}\n\`\`\`\n`;
const ROUNDED = "def gross(price):\n    \"\"\"With tax.\"\"\"\n    return round(price * (1 + RATE), 2)";
const ANSWERS = [
    fence("python src/prices.py", `# ... existing code ...\n\n${ROUNDED}`),
    fence("python", "RATE = 0.2"),
    fence("python", "# src/stock.py\nSTOCK = {}"),
    fence("python src/prices.py", "# ...\nqueue = Queue()\n# ..."),
    fence("bash", "touch ran.txt"),
];
let lab, model, browser, window;

before(async () => {
    model = await startModel(ANSWERS.map((text) => ({ text })), 200);
    lab = await startLab("changes", { env: model.env, files: { "src/prices.py": PRICES }, settings: { "terminal.integrated.gpuAcceleration": "off" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab, undefined, lab.urlOf("src/prices.py"));
    await window.openPanel();
    for (const number of ANSWERS.keys()) {
        await window.send(`Question ${number}`);
        await window.answered(2 * number + 1);
    }
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const tabs = () => window.page.locator(".editor-group-container .tab");
const diffTab = () => tabs().filter({ hasText: "as it is, and changed" });
const inTitle = (name) => window.page.locator(".editor-actions").getByRole("button", { name });
/** What the editor of the file shows, which may not be saved. */
const shown = async () => (await window.page.locator(".editor-instance .monaco-editor .view-lines").first().innerText()).replaceAll("\u00a0", " ");

async function press(number, name) {
    const answer = window.panel.getByRole("article", { name: `Palimpsest, message ${2 * number + 1}`, exact: true });
    await answer.scrollIntoViewIfNeeded();
    await answer.getByRole("button", { name }).click();
}

const review = (number) => press(number, "Review as a change");

test("a function that leaves the rest out is shown at its place, accepted, and taken back", async () => {
    await review(0);
    await diffTab().waitFor();
    await window.page.locator(".monaco-diff-editor .line-insert").first().waitFor();
    await window.shot("changes-1-diff");
    assert.equal(lab.read("src/prices.py"), PRICES, "nothing is changed before it is accepted");
    await inTitle("Accept").click();
    await diffTab().waitFor({ state: "detached" });
    await until("the file holds the change", async () => (await shown()).includes("round(price * (1 + RATE), 2)"));
    assert.match(await shown(), /RATE = 0\.19/);
    await window.shot("changes-2-accepted");
    await window.page.keyboard.press("Control+S");
    await until("the change is saved", () => lab.read("src/prices.py") === PRICES.replace("return price * (1 + RATE)", "return round(price * (1 + RATE), 2)"));
    await window.page.keyboard.press("Control+Z");
    await window.page.keyboard.press("Control+S");
    await until("it is taken back", () => lab.read("src/prices.py") === PRICES);
});

test("code that names no file asks for one, the active file first, and is discarded with its tab", async () => {
    await review(1);
    const list = window.page.locator(".quick-input-widget");
    await list.locator(".quick-input-title", { hasText: "Which file is this code for?" }).waitFor();
    assert.match(await list.locator(".monaco-list-row").first().textContent(), /src\/prices\.py.*the file you look at/);
    await window.shot("changes-3-which");
    await window.page.keyboard.press("Enter");
    await diffTab().waitFor();
    await inTitle("Discard").click();
    await diffTab().waitFor({ state: "detached" });
    assert.equal(lab.read("src/prices.py"), PRICES);
});

test("a file that does not exist yet is made", async () => {
    await review(2);
    await diffTab().waitFor();
    await window.shot("changes-4-new-file");
    assert.ok(!existsSync(path.join(lab.folder, "src/stock.py")));
    await inTitle("Accept").click();
    await diffTab().waitFor({ state: "detached" });
    await until("it is there", () => existsSync(path.join(lab.folder, "src/stock.py")) && lab.read("src/stock.py") === "STOCK = {}\n");
});

test("a place that is not found is said, and no editor opens", async () => {
    await review(3);
    await window.panel.getByTestId("notice").getByText("The place of this code in src/prices.py was not found.").waitFor();
    assert.equal(await diffTab().count(), 0);
});

test("a file that has changed since is left alone", async () => {
    await review(0);
    await diffTab().waitFor();
    lab.write("src/prices.py", PRICES.replace("0.19", "0.21"));
    await until("the editor has read it", async () => (await window.page.locator(".monaco-diff-editor").innerText()).includes("0.21"));
    await inTitle("Accept").click();
    await window.page.locator(".notification-list-item", { hasText: "src/prices.py has changed since." }).waitFor();
    await window.shot("changes-5-changed-since");
    assert.equal(lab.read("src/prices.py"), PRICES.replace("0.19", "0.21"));
    await diffTab().click({ button: "middle" });
    await diffTab().waitFor({ state: "detached" });
});

test("shell code is put into a terminal, and only the user runs it", async () => {
    await press(4, "Put this into a terminal");
    const terminal = window.page.locator(".terminal-wrapper .xterm-rows");
    await until("the command stands there", async () => (await terminal.allInnerTexts()).join("").replaceAll("\u00a0", " ").includes("touch ran.txt"));
    await window.shot("changes-6-terminal");
    assert.ok(!existsSync(path.join(lab.folder, "ran.txt")));
    await window.page.keyboard.press("Enter");
    await until("it has run", () => existsSync(path.join(lab.folder, "ran.txt")));
});
