/** Two windows on one folder follow each other, and VS Code's own Chat view asks the same conversations. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

let lab, model, browser, window, other;

before(async () => {
    model = await startModel([], 40);
    lab = await startLab("windows", { env: model.env, files: { "README.md": "# Shop\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.openPanel();
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

test("a second window on the folder shows an answer while it streams in the first, and its end", async () => {
    await window.send("list 3");
    await window.answered(1);
    other = await Window.open(browser, lab);
    await other.openPanel();
    await other.panel.getByRole("article", { name: "Palimpsest, message 1", exact: true }).waitFor();
    assert.equal(lab.servers().length, 2);
    await other.page.locator(".statusbar-item", { hasText: (await other.panel.getByTestId("window-bar").innerText()).match(/\d+%/)[0] }).waitFor();
    await window.send("list 250");
    await other.streaming(150);
    await window.streaming(150);
    assert.match(await (await other.answered(3)).textContent(), /Item 250 of 250/);
    assert.match(await (await window.answered(3)).textContent(), /Item 250 of 250/);
    await other.send("what the second window says");
    await until("the first window shows it", async () => (await window.panel.getByRole("article", { name: "You, message 4", exact: true }).count()) === 1);
    assert.match(await (await window.answered(5)).textContent(), /You said: what the second window says/);
    await other.page.context().close();
});

test("@palimpsest answers in VS Code's own Chat view, in a conversation that is kept", async () => {
    const session = window.page.locator(".interactive-session").first();
    const input = session.locator(".chat-input-container .monaco-editor").first();
    if ((await input.count()) === 0 || !(await input.isVisible())) {
        await window.palette("Chat: Open Chat");
    }
    await input.click();
    await window.page.keyboard.type("@palimpsest", { delay: 30 });
    await window.page.locator(".suggest-widget.visible .monaco-list-row", { hasText: "palimpsest" }).first().waitFor({ timeout: 5_000 }).catch(() => undefined);
    await window.page.keyboard.press("Escape");
    await window.page.keyboard.type(" list 12", { delay: 10 });
    await window.page.keyboard.press("Enter");
    await session.getByText("Item 12 of 12").waitFor({ timeout: 40_000 });
    await window.shot("participant");
    await window.panel.getByTestId("list").click();
    await window.panel.getByRole("region", { name: "Conversations" }).getByRole("button", { name: /list 12/ }).first().waitFor();
    await window.shot("conversations");
});
