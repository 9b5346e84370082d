/** The pages of the panel, each with how it comes about. `design`: the word for it in the names of the design's pictures. */
import { until } from "../harness/lab.mjs";

const PRICES = `"""Prices, in euros."""

RATE = 0.19


def gross(net):
    """The net price with tax."""
    return round(net * (1 + RATE), 2)


def net(gross):
    """The price without tax."""
    return gross / (1 + RATE)
`;
const INVOICE = `"""Invoices."""

from prices import gross

MAX_LINES = 200


def total(lines):
    """What the customer pays."""
    return sum(gross(each) for each in lines[:MAX_LINES])
`;
export const FILES = { "src/prices.py": PRICES, "src/invoice.py": INVOICE, "README.md": "# Shop\n\nBooks have the reduced rate of 7 %.\n" };

const WHERE = "In one place: `RATE`, line 3 of `src/prices.py`. Only `gross` uses it:\n\n```python\nreturn round(net * (1 + RATE), 2)\n```\n\n| net | gross |\n|---|---:|\n| 100.00 | 119.00 |\n| 7.99 | 9.51 |\n\nThe price is rounded **once**, after the tax:\n\n- per price, never per invoice\n- half up, as the accountants do";
const LONG = "The rate is kept in one place, and every price is made from the net price with it. Rounding is done per price and half up. ";
const POINTS = ["Which rate do we use for books?", "Please round half up, per price and never per invoice.", "Where are invoices added up?", "What if an invoice has 200 lines?", "Which tests are there for it?"];

/** In the order in which the scenes ask. */
export const ANSWERS = [
    { text: "", calls: [{ name: "read_file", arguments: { path: "src/prices.py" } }, { name: "read_file", arguments: { path: "src/invoice.py" } }, { name: "search_files", arguments: { pattern: "RATE" } }] },
    { text: WHERE, thinking: "The rate is in prices.py; invoices use gross." },
    { text: "", calls: [{ name: "propose_edit", arguments: { path: "src/prices.py", edits: [{ old_text: "RATE = 0.19", new_text: "RATE = 0.19\nREDUCED = 0.07" }] } }] },
    { text: "The reduced rate stays out for now." },
    ...POINTS.map((_, n) => ({ text: `Point ${n + 1}. ${LONG.repeat(n < 4 ? 12 + 5 * n : 2)}` })),
    { text: "Half a cent goes up, per price." },
];

const back = async (window) => {
    await window.panel.getByTestId("back").click();
    await window.panel.getByTestId("composer").waitFor();
};

async function ask(window, text) {
    // By the name of the last row: of a long conversation only rows near the end are elements.
    const last = () => window.panel.locator('[data-testid^="message-"]').last().getAttribute("data-testid", { timeout: 100 }).catch(() => undefined);
    const before = await last();
    await window.send(text);
    await until("the answer begins", async () => (await window.panel.getByTestId("live").count()) > 0 || (await last()) !== before);
    await window.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
}

/** Scrolls up to the sheet, as with a wheel. */
async function toLayer(window) {
    const box = await window.panel.getByTestId("messages").boundingBox();
    await window.page.mouse.move(box.x + box.width / 2, box.y + 40);
    await until("the sheet is in sight", async () => {
        await window.page.mouse.wheel(0, -3_000);
        return (await window.panel.getByTestId("layer").count()) > 0;
    });
    await window.page.mouse.move(1_400, 500);
}

/** A menu closes when the panel's width changes. */
async function openMenu(window, button) {
    if (await window.panel.getByTestId("menu").count() === 0) {
        await button.click();
        await window.panel.getByTestId("menu").waitFor();
    }
}

async function closeMenu(window) {
    if (await window.panel.getByTestId("menu").count() > 0) {
        await window.page.keyboard.press("Escape");
        await window.panel.getByTestId("menu").waitFor({ state: "detached" });
    }
}

/** The menu of a right click. */
async function rightClick(window, at) {
    if (await window.panel.getByTestId("menu").count() === 0) {
        await at.click({ button: "right" });
        await window.panel.getByTestId("menu").waitFor();
    }
}

/** Keeps a fact about lines of the open file. */
async function keepFact(window, first, last, text) {
    await window.page.locator(".monaco-editor .view-line").first().click();
    await window.goTo(first);
    for (let n = first; n < last; n++) {
        await window.page.keyboard.press("Shift+ArrowDown");
    }
    await window.page.keyboard.press("Shift+End");
    await window.palette("Palimpsest: Add a Fact About the Selection");
    await window.page.locator(".quick-input-widget input[type=text]").first().fill(text);
    await window.page.keyboard.press("Enter");
    await window.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

export const START = [
    { name: "01-start", design: "start", title: "nothing is set up yet", prepare: async () => undefined },
    { name: "01-start-offline", design: "start", title: "an answer without a model", prepare: async (window) => { await ask(window, "What does gross return?"); } },
];

export const SCENES = [
    { name: "09-history-empty", design: "history", title: "no conversation yet", prepare: async (window) => { await window.palette("Palimpsest: Show Conversations"); await window.panel.getByTestId("conversations").waitFor(); } },
    {
        name: "08-facts-empty",
        design: "facts",
        title: "no facts yet",
        prepare: async (window) => {
            await window.palette("Palimpsest: Show Facts");
            await window.panel.getByTestId("facts").waitFor();
        },
    },
    {
        name: "02-chat",
        design: "chat",
        title: "a conversation with tools, code and a table",
        prepare: async (window) => {
            await back(window);
            await ask(window, "Where is the tax rate kept?");
        },
    },
    {
        name: "05-tools",
        design: "tools",
        title: "an edit waits for a decision",
        prepare: async (window) => {
            await window.send("Add the reduced rate for books.");
            await window.panel.getByTestId("approval").waitFor();
        },
    },
    {
        name: "05-tools-menu",
        design: "tools",
        title: "more answers to a decision",
        prepare: async () => undefined,
        settle: async (window) => { await openMenu(window, window.panel.getByRole("button", { name: /^More answers/ })); },
    },
    {
        name: "03-composer",
        design: "composer",
        title: "the composer with a completion",
        prepare: async (window) => {
            if (await window.panel.getByTestId("menu").count() > 0) { // Esc would stop the answer otherwise
                await window.page.keyboard.press("Escape");
            }
            await window.panel.getByTestId("approval").getByRole("button", { name: /^(Not now|Reject|Don’t run)/ }).click();
            await window.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
            await window.composer.fill("");
            await window.composer.pressSequentially("Compare with @pri");
            await window.panel.getByRole("listbox", { name: "Completions" }).getByRole("option").first().waitFor();
        },
    },
    {
        name: "03-composer-ring",
        design: "composer",
        title: "how full the context is",
        prepare: async (window) => { await window.composer.fill(""); },
        settle: async (window) => {
            if (await window.panel.getByTestId("sees-what").count() === 0) {
                await window.panel.getByTestId("window-bar").click();
                await window.panel.getByTestId("sees-what").waitFor();
            }
        },
    },
    {
        name: "06-summaries",
        design: "summaries",
        title: "older messages are a sheet",
        prepare: async (window) => {
            await window.composer.click(); // closes the card about the context
            await window.panel.getByTestId("sees-what").waitFor({ state: "detached" });
            await window.composer.fill("");
            for (const each of POINTS) {
                await ask(window, each);
            }
            await ask(window, "What did we say about rounding?");
            await window.send("/summarize");
            await window.panel.getByTestId("reply").getByRole("button", { name: "Close" }).click();
            await toLayer(window);
        },
        settle: toLayer,
    },
    {
        name: "06-summaries-open",
        design: "summaries",
        title: "the sheet is open: the summary",
        prepare: async (window) => { await window.panel.getByTestId("layer").getByRole("button", { expanded: false }).click(); },
        settle: toLayer,
    },
    {
        name: "06-summaries-originals",
        design: "summaries",
        title: "the sheet is open: the originals",
        prepare: async (window) => {
            await window.panel.getByTestId("layer").getByRole("button", { name: /^\d+ originals?$/ }).click();
            await window.panel.locator("[data-original]").first().waitFor();
        },
        settle: toLayer,
    },
    {
        name: "07-context",
        design: "context",
        title: "what the model sees: the map",
        prepare: async (window) => {
            await window.palette("Palimpsest: Show What the Model Sees");
            await window.panel.getByTestId("segment").first().waitFor();
        },
    },
    { name: "07-context-list", design: "context", title: "what the model sees: the list", prepare: async (window) => { await window.panel.getByTestId("explain").getByRole("button", { name: "List", exact: true }).click(); } },
    {
        name: "07-context-time",
        design: "context",
        title: "what the model sees: over time, and the cost",
        prepare: async (window) => { await window.panel.getByTestId("explain").getByRole("button", { name: "Map", exact: true }).click(); },
        settle: async (window) => { await window.panel.getByTestId("cost").scrollIntoViewIfNeeded(); },
    },
    {
        name: "08-facts",
        design: "facts",
        title: "facts by file, one of them open",
        prepare: async (window, lab) => {
            await window.palette("Palimpsest: Show Facts");
            await window.panel.getByTestId("facts").waitFor();
            await keepFact(window, 3, 3, "The tax rate is 19 %, kept in `RATE`.");
            await keepFact(window, 11, 13, "`net()` removes the tax.");
            await keepFact(window, 6, 8, "Prices are rounded half up, per price.");
            lab.write("src/prices.py", PRICES.replace("0.19", "0.20").replace(/\n\ndef net[\s\S]*/, "").replace("def gross", "REDUCED = 0.07\n\n\ndef gross"));
            await until("two facts are stale", async () => (await window.panel.locator(".fact.changed, .fact.missing").count()) === 2);
            await window.panel.locator(".fact.changed .text").first().click();
            await window.panel.getByTestId("then-and-now").waitFor();
        },
    },
    {
        name: "08-facts-menu",
        design: "facts",
        title: "the menu of a fact, by right click",
        prepare: async () => undefined,
        settle: async (window) => { await rightClick(window, window.panel.locator(".fact .text").last()); },
    },
    {
        name: "06-summaries-stale",
        design: "summaries",
        title: "facts may be out of date",
        prepare: async (window) => {
            await closeMenu(window);
            await back(window);
            await window.panel.getByTestId("stale-facts").waitFor();
        },
    },
    {
        name: "09-history",
        design: "history",
        title: "conversations by day",
        prepare: async (window) => {
            await window.panel.getByTestId("new-conversation").click();
            await window.panel.locator('[data-testid^="message-"]').first().waitFor({ state: "detached" });
            await ask(window, "Why do invoices differ by a cent?");
            await window.panel.getByTestId("new-conversation").click();
            await window.panel.getByTestId("message-1").waitFor({ state: "detached" });
            await ask(window, "How is the database migrated?");
            await window.composer.fill("Compare these with the invoices of last year");
            await window.panel.getByTestId("list").click();
            await window.panel.getByTestId("conversations").waitFor();
        },
    },
    {
        name: "09-history-menu",
        design: "history",
        title: "the menu of a conversation, by right click",
        prepare: async () => undefined,
        settle: async (window) => { await rightClick(window, window.panel.locator(".conv").nth(1)); },
    },
    {
        name: "09-history-search",
        design: "history",
        title: "conversations: searching",
        prepare: async (window) => {
            await closeMenu(window);
            await window.panel.getByTestId("search").fill("rounding");
            await window.panel.locator(".hit").first().waitFor();
        },
    },
    {
        name: "09-history-delete",
        design: "history",
        title: "conversations: deleting asks once",
        prepare: async (window) => {
            await window.panel.getByTestId("search").fill("");
            await window.panel.locator(".conv").last().hover();
            await window.panel.locator(".conv").last().getByRole("button", { name: "Delete…" }).click();
            await window.panel.getByTestId("deletion").waitFor();
        },
    },
    {
        name: "04-live",
        design: "live",
        title: "an answer is coming",
        prepare: async (window) => {
            await window.panel.getByRole("button", { name: "Cancel" }).click();
            await back(window);
            await window.panel.getByTestId("new-conversation").click();
            await window.panel.getByTestId("message-1").waitFor({ state: "detached" });
            await window.send("list 30000");
            await window.streaming(200);
        },
    },
    {
        name: "06-recovery",
        design: "recovery-windows",
        title: "an answer broke off",
        prepare: async (window, lab) => {
            if (await window.panel.getByTestId("live").count() === 0) { // it was photographed for longer than it took
                await window.send("list 30000");
                await window.streaming(200);
            }
            process.kill(lab.servers()[0], "SIGKILL");
            await window.panel.getByTestId("recovery").first().waitFor({ timeout: 60_000 });
        },
    },
    {
        name: "06-recovery-menu",
        design: "recovery-windows",
        title: "what else can be done about it",
        prepare: async () => undefined,
        settle: async (window) => { await openMenu(window, window.panel.getByTestId("recovery").first().getByRole("button", { name: "More" })); },
    },
];

const BUSY = { status: 429, headers: { "retry-after": "58" } };
const read = (path) => ({ name: "read_file", arguments: { path } });
const MODULE = Array.from({ length: 14 }, (_, n) => `def rate_${n}(net):\n    """The price of group ${n} with tax."""\n    return round(net * ${(1 + n / 100).toFixed(2)}, 2)\n`).join("\n");

/** Asks until the failure is there: attempts that wait are made at once. */
async function fail(window, text) {
    const failure = window.panel.getByTestId("failure");
    await failure.getByRole("button", { name: "Dismiss" }).click();
    await failure.waitFor({ state: "detached" });
    await window.send(text);
    await until("it fails", async () => {
        await window.panel.getByRole("button", { name: "Try now" }).click({ timeout: 500 }).catch(() => undefined);
        return (await failure.count()) > 0;
    }, 90_000);
}

/** A service that asks to wait, a turn with many tools, long code, and a key that is refused. */
export const TROUBLE = [
    BUSY, BUSY, BUSY,
    { text: "I look at where the rate is used first.", calls: [read("src/prices.py"), read("src/invoice.py"), read("README.md"), read(".env")] },
    { text: "", calls: [{ name: "search_files", arguments: { pattern: "RATE" } }] },
    { text: "", calls: [{ name: "list_files", arguments: { path: "src" } }] },
    { text: `They are rounded **twice**: in src/prices.py:8, and then in the sum. A module of its own:\n\n\`\`\`python\n${MODULE}\`\`\`\n\n- [x] Rate in one place\n- [ ] Tests for the reduced rate` },
    { status: 401 },
    { status: 429, code: "insufficient_quota", message: "You exceeded your current quota." },
    ...Array(12).fill({ status: 503, message: "The engine is overloaded." }),
];

export const TROUBLES = [
    {
        name: "04-live-pause",
        design: "live",
        title: "the service asks to wait",
        prepare: async (window) => {
            await window.send("Why do invoices differ by a cent?");
            await window.panel.getByTestId("pause").waitFor();
        },
    },
    {
        name: "05-tools-runs",
        design: "tools",
        title: "a run of tool calls is one line, long code is folded",
        prepare: async (window) => {
            await until("the answer is there", async () => {
                const again = window.panel.getByRole("button", { name: "Try now" });
                if (await again.count() > 0) {
                    await again.click({ timeout: 2_000 }).catch(() => undefined);
                }
                return (await window.panel.getByTestId("live").count()) === 0 && (await window.panel.getByRole("button", { name: /^Show all \d+ lines$/ }).count()) > 0;
            }, 120_000);
            await window.panel.locator("details.run > summary").first().click();
        },
    },
    {
        name: "02-chat-more",
        design: "chat",
        title: "the menu of the header",
        prepare: async () => undefined,
        settle: async (window) => { await openMenu(window, window.panel.getByTestId("more")); },
    },
    {
        name: "02-chat-menu",
        design: "chat",
        title: "the menu of a message, by Shift+F10",
        prepare: async () => undefined,
        settle: async (window) => {
            await window.panel.locator('[data-testid^="message-"].answer').last().focus();
            await window.page.keyboard.press("Shift+F10");
            await window.panel.getByTestId("menu").waitFor();
        },
    },
    {
        name: "04-live-refused",
        design: "live",
        title: "a key that is refused",
        prepare: async (window) => {
            await window.page.keyboard.press("Escape");
            await window.send("And the tests?");
            await window.panel.getByTestId("failure").waitFor({ timeout: 60_000 });
        },
    },
    {
        name: "04-live-credit",
        design: "live",
        title: "the account is out of credit",
        prepare: async (window) => { await fail(window, "And the tests?"); },
    },
    {
        name: "04-live-overloaded",
        design: "live",
        title: "the service is overloaded",
        prepare: async (window) => { await fail(window, "Which tests are there?"); },
    },
    {
        name: "04-live-too-long",
        design: "live",
        title: "a message that does not fit",
        prepare: async (window) => {
            await fail(window, "half up, per price and never per invoice; ".repeat(20_000));
            await window.composer.fill("");
        },
    },
];
