/** From no model: a model of VS Code's, which another extension brings, and a service at an address of one's own; and what is read at each step. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { packExtension, startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

let lab, model, browser, window;

before(async () => {
    model = await startModel([], 200);
    lab = await startLab("models", { files: { "README.md": "# Shop\n\nIt sells lamps.\n" }, extensions: [packExtension("models")] });
    browser = await startBrowser();
    // What makes a model wait for the user's word is a proposal of VS Code's, which Copilot may use.
    window = await Window.open(browser, lab, undefined, `${lab.url}&payload=${encodeURIComponent('[["enableProposedApi",""]]')}`);
    await window.openPanel();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const pick = () => window.page.locator(".quick-input-widget");
const field = () => pick().locator("input").and(pick().locator(":visible")).first();
const row = (text) => pick().locator(".monaco-list-row", { hasText: text }).first();
const titled = (title) => pick().locator(".quick-input-title", { hasText: title }).waitFor();

async function enter(text) {
    await field().fill(text);
    await window.page.keyboard.press("Enter");
}

async function services() {
    await window.palette("Palimpsest: Add or Change a Key");
    await titled("Add a key or choose a model (1/2)");
    await row("Models of VS Code").waitFor();
}

async function composerHasFocus() {
    await until("the composer has the focus", () => window.composer.evaluate((element) => element.ownerDocument.hasFocus() && element.ownerDocument.activeElement === element));
}

test("without a model quotes answer, and it is said once where that stands", async () => {
    await window.panel.getByTestId("set-up").getByText("No model is set up yet.").waitFor();
    await window.shot("models-1-none");
    await window.send("What does the shop sell?");
    assert.match(await (await window.answered(1)).textContent(), /It sells lamps/);
    await window.panel.getByTestId("quotes-only").waitFor();
    await window.shot("models-2-quotes");
    assert.equal(await window.page.locator(".notification-list-item", { hasText: "model" }).count(), 0);
});

test("a model of VS Code's is offered, chosen, allowed by the user, and answers", async () => {
    await services();
    await window.shot("models-3-services");
    await row("Models of VS Code").click();
    await titled("Model for this conversation");
    await row("Scripted One").or(row("editor/scripted/one")).waitFor();
    assert.match(await pick().innerText(), /from VS Code/);
    await window.shot("models-4-list");
    await row("scripted").click();
    await composerHasFocus();
    await window.send("Say something");
    // VS Code asks by itself before an extension uses what another one brings.
    const dialog = window.page.locator(".monaco-dialog-box");
    await dialog.getByText(/Palimpsest.*wants to access.*language models/).waitFor();
    assert.match(await dialog.innerText(), /You chose this model for a conversation with Palimpsest\./);
    await window.shot("models-5-consent");
    await dialog.getByRole("button", { name: "Allow" }).click();
    await window.panel.getByText("Scripted One was asked:").first().waitFor();
    assert.equal(await window.page.locator(".notification-list-item", { hasNotText: "git repository" }).count(), 0, "nothing is doubted about a model that VS Code offers");
    assert.match(await (await window.answered(3)).textContent(), /Say something/);
    await window.shot("models-6-answer");
});

test("a service at another address is set up by its address, without a key where it wants none", async () => {
    await services();
    await row("Another service that speaks OpenAI").click();
    await titled("Address of the service (1/2)");
    await enter("localhost");
    await pick().getByText("An address begins with http:// or https://.").waitFor();
    await window.shot("models-7-bad-address");
    await enter(`${model.url}/v1`);
    await titled("key (2/2)");
    await window.shot("models-8-key");
    await window.page.keyboard.press("Enter");
    await window.page.locator(".notification-list-item", { hasText: "ready" }).first().waitFor();
    await titled("Model for this conversation");
    await window.shot("models-9-list");
    await field().fill("gpt-4o");
    await row("gpt-4o").click();
    await composerHasFocus();
    await window.send("list 3");
    assert.match(await (await window.answered(5)).textContent(), /Item 3 of 3/);
    await window.shot("models-10-answer");
});

test("the status bar tells of the conversation that is shown", async () => {
    const label = () => window.page.locator('.statusbar-item[id$="palimpsest.usage"] [aria-label]').first().getAttribute("aria-label");
    await until("it names this one", async () => /tokens in “What does the shop sell\?/.test((await label()) ?? ""));
    await window.panel.getByTestId("new-conversation").click();
    await until("it names no other one", async () => !/What does the shop sell/.test((await label()) ?? ""));
    await window.send("list 2");
    await window.answered(1);
    await until("it names the new one", async () => /tokens in “list 2”/.test((await label()) ?? ""));
    await window.panel.getByTestId("list").click();
    await window.panel.getByTestId("conversations").getByText("What does the shop sell?").first().click();
    await until("it names the first one again", async () => /tokens in “What does the shop sell\?/.test((await label()) ?? ""));
});
