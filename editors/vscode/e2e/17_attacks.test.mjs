/** What a model names and proposes, and what happens around the panel at a bad moment, harms nothing and loses nothing. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const NAME = "[Repair](command:workbench.action.terminal.new) \u202Egpj.py";
const propose = (path, content) => ({ text: "", calls: [{ name: "propose_edit", arguments: { path, content } }] });
const ANSWERS = [
    propose(NAME, "x = 1\n"),
    { text: "Refused." },
    { text: "", calls: ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"].map((name) => ({ name, arguments: { path: "a\u202Eb" } })) },
    { text: "None of them is there.\n\n99999. many\n100000. more\n" },
    propose("large.py", Array.from({ length: 10_000 }, (_, n) => `x${n} = ${n}\n`).join("")),
    { text: "As you like." },
    propose("waits.py", "y = 1\n"),
];
let lab, model, browser, window;

before(async () => {
    model = await startModel(ANSWERS, 60);
    lab = await startLab("attacks", { env: model.env, files: { "src/prices.py": "RATE = 0.19\n", ".vscode/settings.json": "{}" } });
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

test("the name of a file is no link in the notification about it", async () => {
    await window.send("Repair it.");
    await window.panel.getByTestId("live").waitFor();
    await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
    const toast = window.page.locator(".notification-list-item", { hasText: "Repair" });
    await toast.waitFor();
    assert.match(await toast.innerText(), /\] \(command:workbench\.action\.terminal\.new\) ⟨U\+202E⟩gpj\.py/);
    assert.equal(await toast.locator(".notification-list-item-message a").count(), 0);
    await window.shot("attacks-toast");
    await toast.getByRole("button", { name: "Show", exact: true }).click();
    await card().waitFor();
    assert.match(await card().innerText(), /⟨U\+202E⟩gpj\.py/);
    await window.composer.focus();
    await window.page.keyboard.press("Control+Backspace");
    await card().waitFor({ state: "detached" });
    await window.panel.getByTestId("messages").getByText("Refused.", { exact: true }).waitFor();
});

test("a model may call tools what JavaScript calls something else", async () => {
    await window.send("Look.");
    await window.panel.getByTestId("messages").getByText("None of them is there.").waitFor();
    await window.panel.getByText("6 tools:").waitFor();
    assert.equal(await window.panel.locator("ol").evaluate((list) => list.style.paddingInlineStart), "7.5ch", "a number of a list has room");
    await window.shot("attacks-tools");
});

test("an edit of 10,000 lines is shown in parts, and keys are answered", async () => {
    await window.send("Make it large.");
    await card().getByRole("button", { name: "Show 9,500 more lines" }).waitFor();
    await card().getByText("+10,000").waitFor();
    await card().getByRole("button", { name: "Show 9,500 more lines" }).press("Enter");
    await card().getByRole("button", { name: "Show 8,500 more lines" }).waitFor();
    await window.shot("attacks-large");
    await card().getByRole("button", { name: "Reject" }).click();
    await window.panel.getByTestId("messages").getByText("As you like.").waitFor();
});

test("a question of a server that is killed goes with it, and the answer can be gone on with", async () => {
    await window.send("Ask me.");
    await card().waitFor();
    process.kill(lab.servers()[0], "SIGKILL");
    await card().waitFor({ state: "detached" });
    const broken = window.panel.getByTestId("recovery");
    await broken.waitFor({ timeout: 60_000 });
    assert.equal(await card().count(), 0);
    await window.shot("attacks-killed");
    await broken.getByRole("button", { name: "More" }).click();
    await window.panel.getByRole("menuitem", { name: "Discard the answer" }).click();
    await broken.waitFor({ state: "detached" });
});

test("a message that is edited and sent again keeps its attachments; those in the composer stay with their conversation", async () => {
    await window.panel.getByTestId("new-conversation").click();
    await window.panel.getByRole("heading", { name: "New conversation" }).waitFor();
    const chips = window.panel.locator(".composer").getByTestId("chips");
    await window.panel.getByTestId("offered-file").click();
    await chips.getByRole("button", { name: "Remove src/prices.py" }).waitFor();
    await window.send("What is the rate?");
    await window.answered(1);
    await window.send("And then?");
    await window.answered(3);
    await window.panel.getByTestId("offered-file").click();
    await chips.getByRole("button", { name: "Remove src/prices.py" }).waitFor();
    const first = window.panel.getByRole("article", { name: "You, message 0", exact: true });
    await first.getByText("prices.py").waitFor();
    await first.focus();
    await window.page.keyboard.press("e");
    await first.getByRole("textbox").fill("What is the rate now?");
    await first.getByRole("button", { name: "Send in a fork" }).click();
    await first.getByText("What is the rate now?").waitFor();
    await window.answered(1);
    await first.getByText("prices.py").waitFor();
    assert.equal(await chips.getByRole("button", { name: "Remove src/prices.py" }).count(), 0);
    await window.shot("attacks-edited");
    await window.panel.getByTestId("list").click();
    await window.panel.getByRole("region", { name: "Conversations" }).getByRole("button", { name: /What is the rate\?/ }).first().click();
    await chips.getByRole("button", { name: "Remove src/prices.py" }).waitFor();
});

test("the panel is narrowed, hidden and shown, and the theme changes, while an answer comes", async () => {
    await window.send("list 400");
    await window.streaming(100);
    const frame = await window.frame();
    const bar = await window.page.locator("#workbench\\.parts\\.sidebar").boundingBox();
    await window.page.mouse.move(bar.x + bar.width, 450);
    await window.page.mouse.down();
    await window.page.mouse.move(bar.x + 200, 450, { steps: 8 });
    await window.page.mouse.up();
    await until("the panel is narrow", () => frame.evaluate(() => innerWidth < 230));
    lab.write(".vscode/settings.json", JSON.stringify({ "workbench.colorTheme": "Default High Contrast Light" }));
    await until("the theme has changed", () => frame.evaluate(() => document.body.classList.contains("vscode-high-contrast-light")));
    const out = await frame.evaluate(() => [...document.querySelectorAll("#root :is(button, textarea)")].filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1).map((each) => each.getAttribute("aria-label") ?? each.textContent));
    await window.shot("attacks-narrow");
    assert.deepEqual(out, [], "no control leaves the panel");
    await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
    await window.openPanel();
    const messages = window.panel.getByTestId("messages");
    await messages.getByText("Item 400 of 400").waitFor({ timeout: 60_000 });
    assert.equal((await messages.innerText()).split("Item 400 of 400").length, 2);
});
