/** A fact about lines of a file: an edit of them makes it stale where it is read, and a person's word makes it hold again. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const SOURCE = `"""Prices."""

RATE = 0.19


def gross(net):
    """With tax."""
    return net * (1 + RATE)
`;
const FACT = "Gross prices are the net price with tax.";
let lab, browser, window;

before(async () => {
    lab = await startLab("facts", { files: { "src/prices.py": SOURCE } });
    browser = await startBrowser();
    window = await Window.open(browser, lab, undefined, lab.urlOf("src/prices.py"));
    await window.openPanel();
    await window.focusFile("src/prices.py");
});

after(async () => {
    await browser?.close();
    await lab?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const tree = () => window.page.getByRole("tree", { name: "Facts" });
const squiggle = () => window.page.locator(".monaco-editor .squiggly-warning");

test("a fact is kept of the selected lines, and the tree names it", async () => {
    await window.goTo(6);
    await window.page.keyboard.press("Shift+ArrowDown");
    await window.page.keyboard.press("Shift+ArrowDown");
    await window.page.keyboard.press("Shift+End");
    await window.palette("Palimpsest: Add a Fact About the Selection");
    const input = window.page.locator(".quick-input-widget input[type=text]").first();
    await window.page.getByText("What is true of the selected lines?").first().waitFor();
    await input.fill(FACT);
    await window.page.keyboard.press("Enter");
    await window.page.getByRole("button", { name: "Facts Section" }).click();
    await tree().getByRole("treeitem", { name: FACT }).waitFor();
    assert.equal(await squiggle().count(), 0);
    await window.page.locator(".codelens-decoration", { hasText: "1 fact" }).waitFor();
});

test("an edit of the lines is a warning in the editor and in Problems, a lens, and stale in the tree", async () => {
    await window.goTo(8);
    await window.page.keyboard.press("End");
    await window.page.keyboard.type(" - 1");
    await squiggle().first().waitFor();
    await window.page.locator(".codelens-decoration", { hasText: "1 fact" }).waitFor();
    await window.palette("Problems: Focus on Problems View");
    await window.page.locator(".markers-panel .monaco-list-row", { hasText: FACT }).first().waitFor();
    await window.page.locator(".monaco-editor .view-line").first().click();
    await window.page.keyboard.press("Control+S");
    await tree().getByRole("treeitem", { name: `To check: ${FACT}` }).waitFor();
    await window.shot("facts");
});

test("\"Ask about this\" opens a conversation with the draft in focus, whatever is shown", async () => {
    await window.send("Where is the rate?");
    await window.answered(1);
    await window.page.locator(".monaco-editor .view-line").first().click();
    await window.goTo(6);
    await (await window.codeActions("Ask about this")).click();
    await until("the draft speaks of the fact", async () => (await window.composer.inputValue()).includes(FACT));
    await until("the composer has the focus", () => window.composer.evaluate((element) => element.ownerDocument.hasFocus() && element.ownerDocument.activeElement === element));
    assert.equal(await window.panel.getByTestId("message-0").count(), 0, "it is a conversation of its own");
    await window.shot("facts-ask");
    await window.page.locator(".monaco-editor .view-line").first().click();
});

test("\"Mark as still true\" takes the warning away", async () => {
    await window.goTo(6);
    await window.codeActions("Mark as still true");
    await window.shot("facts-quick-fix");
    await window.page.keyboard.press("Enter");
    await squiggle().first().waitFor({ state: "detached" });
    await until("Problems are empty", async () => (await window.page.locator(".markers-panel .monaco-list-row", { hasText: FACT }).count()) === 0);
    await tree().getByRole("treeitem", { name: `To check: ${FACT}` }).waitFor({ state: "detached" });
    await tree().getByRole("treeitem", { name: FACT }).waitFor();
});

test("a fact is forgotten from the tree", async () => {
    await tree().getByRole("treeitem", { name: FACT }).hover();
    await tree().getByRole("treeitem", { name: FACT }).getByRole("button", { name: "Forget Fact" }).click();
    await window.page.locator(".monaco-dialog-box").getByRole("button", { name: "Forget" }).click();
    await tree().getByRole("treeitem", { name: FACT }).waitFor({ state: "detached" });
});

test("the page of facts shows a line then and now, and a forgotten fact is taken back in its place", async () => {
    await window.page.locator(".monaco-editor .view-line").first().click();
    await window.goTo(3);
    await window.page.keyboard.press("Shift+End");
    await window.palette("Palimpsest: Add a Fact About the Selection");
    await window.page.locator(".quick-input-widget input[type=text]").first().fill("The rate is 19 %.");
    await window.page.keyboard.press("Enter");
    await tree().getByRole("treeitem", { name: "The rate is 19 %." }).waitFor();
    await window.palette("Palimpsest: Show Facts");
    const page = window.panel.getByRole("region", { name: "Facts", exact: true });
    const fact = page.getByTestId("fact");
    await fact.filter({ hasText: "Pinned by you" }).waitFor();
    lab.write("src/prices.py", lab.read("src/prices.py").replace("RATE = 0.19", "RATE = 0.20"));
    const stale = fact.filter({ hasText: "Changed" });
    await stale.getByRole("button", { name: /The rate is 19 %/ }).click();
    assert.deepEqual(await stale.getByTestId("then-and-now").locator("mark").allInnerTexts(), ["0.19", "0.20"]);
    await window.shot("facts-page");
    await stale.getByRole("button", { name: "Still true" }).click();
    await stale.waitFor({ state: "detached" });
    await fact.getByRole("button", { name: "Forget", exact: true }).click();
    await fact.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await fact.waitFor();
});
