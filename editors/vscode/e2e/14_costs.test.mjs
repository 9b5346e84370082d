/** What models cost: the panel says what the service charged, beside each answer, in the ring's card and on the page; the month's budget warns, and then asks. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

/** US dollars for a million tokens. */
const PRICE = { input: 2, cached: 1, output: 10 };
const SETTINGS = {
    "palimpsest.models": { "gpt-4o": { input_price: PRICE.input, output_price: PRICE.output, cache_read_price: PRICE.cached } },
    "palimpsest.summarization.kind": "llm",
    "palimpsest.summarization.model": "gpt-4o",
};
const ANSWERS = 6;
let lab, model, browser, window;

before(async () => {
    model = await startModel(Array.from({ length: ANSWERS }, (_, number) => ({ text: `Answer ${number}: ${"the oven is at 900 degrees. ".repeat(40)}` })), 500);
    lab = await startLab("costs", { env: model.env, settings: SETTINGS, files: { ".vscode/settings.json": "{}" } });
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

const sum = (all, of) => all.reduce((total, each) => total + of(each), 0);
const sentOf = (each) => each.n_input + each.n_cache_read + each.n_cache_written;
const dollarsOf = (all) => sum(all, (each) => PRICE.input * (each.n_input + each.n_cache_written) + PRICE.cached * each.n_cache_read + PRICE.output * each.n_output) / 1e6;
/** As the panel writes tokens. */
const short = (n) => (n < 1_000 ? String(n) : n < 99_950 ? `${(n / 1_000).toFixed(1)}k` : `${Math.round(n / 1_000)}k`);
/** The sum in the text, which has two digits and more. */
const shownDollars = (text) => Number(/\$([\d.,]+)/.exec(text)?.[1].replaceAll(",", ""));
const isPrice = (text, dollars) => Math.abs(shownDollars(text) - dollars) <= 0.051 * dollars;
const card = () => window.panel.getByTestId("cost-sums");
const openCard = async () => {
    await window.panel.getByTestId("window-bar").click();
    await card().waitFor();
};
const row = (place, name) => place.locator("div").filter({ has: window.panel.locator("dt", { hasText: new RegExp(`^${name}`) }) }).locator("dd");

test("each answer says what its turn cost, and the ring's card what the conversation did", async () => {
    for (let number = 0; number < ANSWERS; number++) {
        await window.send(`Question ${number}`);
        const answer = await window.answered(2 * number + 1);
        const charged = await model.charged();
        assert.equal(charged.length, number + 1);
        const cost = answer.getByTestId("turn-cost");
        await cost.waitFor();
        assert.ok(isPrice(await cost.innerText(), dollarsOf(charged.slice(-1))), `${await cost.innerText()} of ${JSON.stringify(charged.at(-1))}`);
    }
    const charged = await model.charged();
    await openCard();
    for (const name of ["This conversation", "Today in this folder", "This month in this folder"]) {
        await until(`${name} is counted`, async () => isPrice(await row(card(), name).innerText(), dollarsOf(charged)));
    }
    await window.shot("costs-card");
    await window.page.keyboard.press("Escape");
});

test("the page has the tokens that were charged, with summaries apart", async () => {
    const answers = await model.charged();
    await window.palette("Palimpsest: Summarize Older Messages");
    await until("a model wrote the summary", async () => (await model.charged()).length > answers.length);
    await window.panel.getByTestId("notice").waitFor();
    await window.palette("Palimpsest: Show What the Model Sees");
    const parts = window.panel.getByTestId("cost-parts");
    await row(parts, "Summaries").waitFor();
    const charged = await model.charged();
    const cell = (name) => row(window.panel.getByTestId("cost"), name).innerText();
    assert.equal((await cell("Sent")).split("\n")[0], short(sum(charged, sentOf)));
    assert.match(await cell("Sent"), new RegExp(`${charged.length} requests`));
    assert.equal((await cell("Answers")).split("\n")[0], short(sum(answers, (each) => each.n_output)));
    assert.ok(isPrice(await cell("Price"), dollarsOf(charged)));
    assert.ok(isPrice(await row(parts, "Answers").innerText(), dollarsOf(answers)));
    assert.ok(isPrice(await row(parts, "Summaries").innerText(), dollarsOf(charged.slice(answers.length))));
    await parts.scrollIntoViewIfNeeded();
    await window.shot("costs-page");
    await window.panel.getByTestId("back").click();
});

/** Returns when the server has heard of it. */
async function budget(dollars) {
    lab.write(".vscode/settings.json", JSON.stringify({ "palimpsest.budget.monthly": dollars }));
    const written = `of a budget of $${dollars.toFixed(2)}`;
    await until("the server has the budget", async () => {
        await window.send("/cost");
        const reply = window.panel.getByTestId("reply");
        await reply.waitFor();
        const text = await reply.innerText();
        await reply.getByRole("button", { name: "Close" }).click();
        return text.includes(written);
    }, 60_000);
}

test("most of the budget spent is a notice with its offers; a spent one is a question, once a day", async () => {
    const spent = dollarsOf(await model.charged());
    await budget(spent / 0.9);
    await window.send("Is there any money left?");
    const warning = window.panel.getByTestId("notice").filter({ hasText: /Models have cost \$[\d.]+ this month, of your budget of/ });
    await warning.waitFor();
    await window.panel.getByTestId("live").waitFor({ state: "detached" });
    await window.shot("costs-warning");
    await warning.getByRole("button", { name: "Change the budget…" }).click();
    await window.page.locator(".settings-editor .setting-item-label", { hasText: "Monthly" }).first().waitFor();
    await warning.waitFor({ state: "detached" });
    await window.shot("costs-setting");
    // The settings lie over the window, or are a tab, as VS Code has it.
    await window.page.keyboard.press("Escape");
    await window.page.locator(".monaco-modal-editor-block").waitFor({ state: "detached" });
    await budget(spent / 2);
    await window.send("And now?");
    const question = window.panel.getByTestId("approval");
    await question.waitFor();
    const before = (await model.charged()).length;
    await window.shot("costs-question");
    await question.getByRole("button", { name: "Not now" }).click();
    const refused = window.panel.getByTestId("failure");
    await refused.getByText("This month’s budget for models is spent.").waitFor();
    await refused.getByText("of your budget of").waitFor();
    await refused.getByRole("button", { name: "Change the budget…" }).waitFor();
    assert.equal((await model.charged()).length, before, "nothing is asked of the service");
    await window.shot("costs-refused");
    await window.send("Then go on.");
    await question.getByRole("button", { name: "Go on today" }).click();
    await until("the service is asked", async () => (await model.charged()).length === before + 1);
});
