/** Without any key: the offline provider answers with what stands in the folder, and what is typed early is kept. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const PRICES = `"""Prices in the shop."""

RATE = 0.19


def gross(net):
    """The gross price: the net price with value added tax."""
    return net * (1 + RATE)
`;
const QUESTION = "What does gross return?";
let lab, browser, window;

before(async () => {
    lab = await startLab("offline", { files: { "src/prices.py": PRICES, "README.md": "# Shop\n\nIt sells lamps.\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.openPanel();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const typed = () => window.composer.inputValue();

test("what is typed before there is a conversation outlives its page, the panel and the window", async () => {
    await window.composer.fill(QUESTION);
    await window.panel.getByTestId("list").click();
    await window.panel.getByRole("button", { name: "Back" }).click();
    assert.equal(await typed(), QUESTION);
    await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
    await window.panel.getByTestId("panel").waitFor({ state: "detached" });
    await window.openPanel();
    await until("the panel holds it again", async () => (await typed()) === QUESTION);
    await window.page.reload();
    await window.panelReady();
    await until("the window holds it again", async () => (await typed()) === QUESTION);
});

test("the offline provider answers with quotes from the files of the folder", async () => {
    assert.match(await window.panel.getByTestId("model").textContent(), /Quotes only|Model/);
    await window.composer.press("Enter");
    const answer = await window.answered(1);
    const text = await answer.textContent();
    assert.match(text, /src\/prices\.py/);
    assert.ok(text.includes("return net * (1 + RATE)"), text);
    await window.panel.getByRole("button", { name: "Model: Quotes only. Choose another" }).waitFor();
    assert.equal(await typed(), "");
    await window.shot("offline");
});

test("what was sent is no draft any more", async () => {
    await window.panel.getByTestId("new-conversation").click();
    await window.panel.getByTestId("message-1").waitFor({ state: "detached" });
    assert.equal(await typed(), "");
});

test("a command is answered in a panel that was hidden", async () => {
    const hide = async () => {
        await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
        await window.panel.getByTestId("panel").waitFor({ state: "detached" });
    };
    await window.panel.getByTestId("list").click();
    await window.panel.getByTestId("conversations").getByRole("button", { name: QUESTION }).first().click();
    await window.panel.getByTestId("message-1").waitFor();
    await hide();
    await window.page.locator(".statusbar-item", { hasText: /^\s*\d+%/ }).click();
    await window.panel.getByTestId("explain").waitFor();
    await hide();
    await window.palette("Palimpsest: Redo Last Summary");
    await window.panel.getByTestId("notice").getByText(/^Nothing to redo/).waitFor();
    await hide();
    await window.palette("Palimpsest: Show Conversations");
    await window.panel.getByTestId("conversations").waitFor();
});

test("a conversation is deleted for good after what goes with it was said", async () => {
    const page = window.panel.getByTestId("conversations");
    const row = page.getByRole("listitem").filter({ hasText: QUESTION });
    await row.hover();
    await row.getByRole("button", { name: "Delete…" }).click();
    const asked = page.getByTestId("deletion");
    assert.match(await asked.innerText(), /for good\?\s+2 messages.*This cannot be undone\. Archiving only hides it\./s);
    await asked.getByRole("button", { name: "Cancel" }).click();
    await row.hover();
    await row.getByRole("button", { name: "Delete…" }).click();
    await asked.getByRole("button", { name: "Delete for good" }).click();
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Back to the conversation" }).click();
    assert.equal(await window.panel.getByTestId("message-1").count(), 0);
});
