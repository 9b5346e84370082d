/** A conversation in a real VS Code: said, streamed, stopped, kept when the panel or the server goes away, summarized. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const PARAGRAPH = "The rate of tax is kept in one place, and every price is made from the net price with it. ".repeat(12);
let lab, model, browser, window;

before(async () => {
    model = await startModel([], 40);
    lab = await startLab("chat", { env: { ...model.env, PALIMPSEST_SUMMARIZATION_KIND: "extractive" }, files: { "src/prices.py": "RATE = 0.19\n" } });
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

/** The notification about an answer that broke off. */
const offer = () => window.page.locator(".notification-list-item", { hasText: "broke off" });
const stored = (id, who) => window.panel.getByRole("article", { name: `${who}, message ${id}`, exact: true });

test("what is said is answered word by word and then stored", async () => {
    await window.composer.fill("list 30");
    await window.panel.getByTestId("send").click();
    await window.streaming();
    assert.equal(await window.panel.getByRole("feed", { name: "Conversation" }).getAttribute("aria-busy"), "true");
    assert.match(await (await window.answered(1)).innerText(), /Item 30 of 30/);
    assert.match(await stored(0, "You").textContent(), /list 30/);
    await window.panel.getByRole("toolbar", { name: "The last answer" }).getByRole("button", { name: "Try again" }).waitFor();
    await window.shot("chat");
});

test("an answer that is stopped keeps its words and offers to go on", async () => {
    await window.send("list 400");
    await window.streaming();
    await window.panel.getByRole("button", { name: "Stop" }).click();
    const answer = await window.answered(3);
    assert.match(await answer.innerText(), /Item 1 of 400/);
    const ending = window.panel.getByRole("toolbar", { name: "The last answer" });
    await ending.getByRole("button", { name: "Continue" }).waitFor();
    assert.match(await ending.innerText(), /You stopped this answer/);
});

test("a panel that is reloaded while an answer streams goes on with it", async () => {
    await window.send("list 300");
    await window.streaming(200);
    const before = await window.liveText();
    await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
    await window.panel.getByTestId("panel").waitFor({ state: "detached" });
    await window.openPanel();
    await window.streaming(before.length);
    assert.equal(await window.panel.getByTestId("live").count(), 1);
    const text = await (await window.answered(5)).innerText();
    for (const n of [1, 150, 300]) {
        assert.equal(text.split(`Item ${n} of 300`).length, 2, `item ${n} stands there once`);
    }
});

test("an answer of a server that was killed is offered again, and what is kept stays", async () => {
    await window.send("list 500");
    await window.streaming(200);
    const [pid] = lab.servers();
    process.kill(pid, "SIGKILL");
    const card = window.panel.getByRole("group", { name: /^An answer broke off in/ });
    await card.waitFor({ timeout: 60_000 });
    for (const name of ["Continue", "Try again", "More"]) {
        await card.getByRole("button", { name, exact: true }).waitFor();
    }
    assert.notDeepEqual(lab.servers(), [pid]);
    assert.equal(await offer().count(), 0, "what the panel shows is not asked in a notification as well");
    await window.shot("recovery");
    await card.getByRole("button", { name: "More" }).press("Enter");
    await window.panel.getByRole("menuitem", { name: "Keep as it is" }).press("Enter");
    await card.waitFor({ state: "detached" });
    assert.match(await stored(7, "Palimpsest").innerText(), /Item 1 of 500/);
});

test("an answer that broke off is continued where it stood, or discarded", async () => {
    for (const [number, choice] of [[9, "Continue"], [11, "Discard the answer"]]) {
        await window.send("list 500");
        await window.streaming(200);
        process.kill(lab.servers()[0], "SIGKILL");
        const card = window.panel.getByRole("group", { name: /^An answer broke off in/ });
        await card.waitFor({ timeout: 60_000 });
        if (choice === "Continue") {
            await card.getByRole("button", { name: choice }).click();
        } else {
            await card.getByRole("button", { name: "More" }).click();
            await window.panel.getByRole("menuitem", { name: choice, exact: true }).click();
        }
        await card.waitFor({ state: "detached" });
        await window.panel.getByTestId("live").waitFor({ state: "detached" });
        if (choice === "Continue") {
            await stored(number + 1, "Palimpsest").waitFor();
        } else {
            await until("the answer is hidden", async () => (await stored(number, "Palimpsest").getByText("Palimpsest: hidden").count()) > 0 || (await stored(number, "Palimpsest").count()) === 0);
        }
    }
});

test("an answer that broke off while the panel is hidden is offered in a notification", async () => {
    await window.send("list 500");
    await window.streaming(200);
    await window.page.getByRole("tab", { name: /^Explorer/ }).first().click();
    await window.panel.getByTestId("panel").waitFor({ state: "detached" });
    process.kill(lab.servers()[0], "SIGKILL");
    await offer().waitFor({ timeout: 60_000 });
    await offer().getByRole("button", { name: "Keep", exact: true }).click();
    await window.openPanel();
    await window.panel.getByTestId("ending").getByText("This answer broke off.").waitFor();
    await until("nothing waits", async () => (await window.panel.getByTestId("recovery").count()) === 0);
});

test("/summarize says what it does, and a summary can be expanded, which is undone and redone", async () => {
    await window.panel.getByTestId("new-conversation").click();
    await window.panel.getByRole("heading", { name: "New conversation" }).waitFor();
    for (let n = 0; n < 6; n++) {
        await window.send(`Point ${n}. ${PARAGRAPH}`);
        await window.answered(2 * n + 1);
    }
    await window.frame().then((frame) => frame.evaluate(() => {
        globalThis.__said = [];
        new MutationObserver(() => {
            const progress = document.querySelector("[data-testid=progress]")?.textContent;
            if (progress) { globalThis.__said.push(progress); }
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
    }));
    await window.send("/summarize");
    const reply = window.panel.getByRole("region", { name: "Answer to /summarize" });
    await reply.waitFor();
    assert.match(await reply.textContent(), /\d/);
    assert.ok(await reply.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight), "the answer is in sight");
    const said = await window.frame().then((frame) => frame.evaluate(() => globalThis.__said));
    assert.ok(said.length > 0, "progress was shown");
    await window.panel.getByTestId("window-bar").click();
    await window.panel.getByTestId("sees-what").click();
    const context = window.panel.getByRole("region", { name: "What the model sees" });
    const summary = context.getByRole("button", { name: /^Summary of messages/ });
    await summary.first().waitFor();
    await window.shot("context");
    assert.match(await context.getByRole("img", { name: /^Tokens of the last/ }).getAttribute("aria-label"), /^Tokens of the last 6 requests: .* Changes: summarized from /);
    const moments = context.getByTestId("timeline").getByRole("listitem");
    assert.match((await moments.filter({ hasText: "Summarized" }).allTextContents()).at(-1), /you asked.* → /);
    await moments.last().scrollIntoViewIfNeeded();
    await window.shot("timeline");
    const segments = await context.getByTestId("segment").count();
    await summary.first().click();
    await context.getByTestId("segment-detail").getByRole("button", { name: "Undo: send the originals" }).click();
    await until("the originals stand in the request again", async () => (await context.getByTestId("segment").count()) > segments);
    await context.getByRole("button", { name: "Undo last" }).click();
    await until("the summary is back", async () => (await context.getByTestId("segment").count()) === segments);
    await context.getByRole("button", { name: "Redo the last undo" }).click();
    await until("the originals stand there once more", async () => (await context.getByTestId("segment").count()) > segments);
    await window.palette("Palimpsest: Undo Last Summary");
    await window.panel.getByTestId("notice").getByText(/^Undone: /).waitFor();
    await until("the summary is back again", async () => (await context.getByTestId("segment").count()) === segments);
    await window.palette("Palimpsest: Redo Last Summary");
    await window.panel.getByTestId("notice").getByText(/^Redone: /).waitFor();
    await window.palette("Palimpsest: Redo Last Summary");
    await window.panel.getByTestId("notice").getByText("Nothing to redo").waitFor();
});

test("a summary is a sheet in the conversation, with the originals in place and its undo", async () => {
    await window.panel.getByTestId("explain").getByRole("button", { name: "Undo last" }).click();
    await window.panel.getByTestId("explain").getByRole("button", { name: /^Summary of messages/ }).first().click();
    await window.panel.getByTestId("segment-detail").getByRole("button", { name: "Show in chat" }).click();
    const layer = window.panel.getByTestId("layer");
    await layer.getByRole("button", { name: /^Summary$/, pressed: true }).waitFor();
    await window.shot("layer");
    await layer.getByRole("button", { name: /^\d+ originals$/ }).click();
    await layer.getByTestId("originals").getByText(/^Point 0\./).first().waitFor();
    await window.shot("originals");
    assert.equal(await stored(0, "You").count(), 0, "the original is in the sheet alone");
    await layer.getByRole("button", { name: "Undo this summary" }).click();
    await layer.waitFor({ state: "detached" });
    await stored(0, "You").waitFor();
});

test("another model is chosen from the list", async () => {
    await window.panel.getByTestId("model").click();
    await window.page.locator(".quick-input-widget input[type=text]").first().fill("Quotes only");
    const row = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Quotes only" });
    await row.first().click();
    await window.panel.getByRole("button", { name: "Model: Quotes only. Choose another" }).waitFor();
});
