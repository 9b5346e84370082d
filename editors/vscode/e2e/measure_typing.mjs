/**
 * How long a key press takes to be painted in the composer while a long answer streams into a conversation of ten
 * thousand messages, and how long in a blank webview of the same window. Measures; it is no test. See TESTING.md.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { E2E_PYTHON, E2E_RUNS, packExtension, startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const MESSAGES = 10_000;
const DELTAS_A_SECOND = 200;
const DELTA_CHARACTERS = 5;
/** Characters that stand there before anybody types. */
const LONG = 10_000;
const KEYS = 150;
const KEY_MS = 100;
/** Of the 95th percentiles. */
const MOST_MORE_MS = 50;
const ROUNDS = 2;

/** Sections of prose, lists and code, as an answer of a model has them. */
function longAnswer(characters) {
    const section = (n) => `## Step ${n}\n\nThe rate of tax is kept in *one* place, and \`gross\` makes every price from the net price with it, so that nobody has to remember it. Prices are rounded once, at the end.\n\n- first the net price\n- then the **rate**, ${n} of them\n- at last the sum\n\n\`\`\`python\ndef gross_${n}(net: float) -> float:\n    """With tax."""\n    return round(net * (1 + RATE), 2)\n\`\`\`\n\n`;
    let text = "";
    for (let n = 1; text.length < characters; n++) {
        text += section(n);
    }
    return text;
}

function recordedSession(file) {
    const words = (n) => `Message ${n}. ${"The rate of tax is kept in one place. ".repeat(1 + (n % 5))}`;
    const lines = Array.from({ length: MESSAGES }, (_, i) => JSON.stringify({ i, role: i % 2 === 0 ? "user" : "assistant", content: words(i) }));
    writeFileSync(file, [JSON.stringify({ meta: { title: "Ten thousand messages" } }), ...lines].join("\n"));
}

/** The frame of the webview that is shown and holds the element. */
async function frameWith(page, selector) {
    return until(`a webview with ${selector} is shown`, async () => {
        for (const frame of page.frames()) {
            if (await frame.locator(selector).isVisible().catch(() => false)) {
                return frame;
            }
        }
        return undefined;
    });
}

/** Milliseconds from each key press, by the time the browser gave the event, to the end of the frame that shows it. */
async function typeInto(page, frame) {
    const field = frame.locator("[data-testid=composer]");
    await field.click();
    await frame.evaluate(() => {
        globalThis.__paints = [];
        globalThis.__channel = new MessageChannel();
        globalThis.__channel.port1.onmessage = ({ data }) => { globalThis.__paints.push(performance.now() - data); };
        globalThis.__onKey = ({ timeStamp }) => {
            // A task that is posted from here runs when what the frame holds has been painted.
            requestAnimationFrame(() => { globalThis.__channel.port2.postMessage(timeStamp); });
        };
        document.addEventListener("keydown", globalThis.__onKey, true);
    });
    for (let n = 0; n < KEYS; n++) {
        const next = performance.now() + KEY_MS;
        await page.keyboard.press("abcdefgh "[n % 9]);
        await new Promise((resolve) => { setTimeout(resolve, Math.max(0, next - performance.now())); });
    }
    await until("each key press was painted", () => frame.evaluate((keys) => globalThis.__paints.length >= keys, KEYS));
    assert.equal(await field.inputValue().then(({ length }) => length), KEYS, "each key press is in the text");
    const paints = await frame.evaluate(() => {
        document.removeEventListener("keydown", globalThis.__onKey, true);
        return globalThis.__paints;
    });
    await field.fill("");
    return paints;
}

function percentile(values, share) {
    const sorted = values.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
}

function describe(name, values) {
    console.log(`${name.padEnd(30)} median ${percentile(values, 0.5).toFixed(1).padStart(6)} ms   p95 ${percentile(values, 0.95).toFixed(1).padStart(6)} ms   most ${Math.max(...values).toFixed(1).padStart(6)} ms   of ${values.length}`);
}

mkdirSync(E2E_RUNS, { recursive: true });
const answer = longAnswer(DELTAS_A_SECOND * DELTA_CHARACTERS * 120);
const model = await startModel(Array.from({ length: ROUNDS }, () => ({ text: answer })), DELTAS_A_SECOND, DELTA_CHARACTERS);
const session = path.join(E2E_RUNS, "ten-thousand.jsonl");
recordedSession(session);
const browser = await startBrowser();
let lab;
try {
    lab = await startLab("typing", {
        env: { ...model.env, PALIMPSEST_SUMMARIZATION_KIND: "extractive" },
        extensions: [packExtension("blank")],
        files: { "README.md": "# Shop\n" },
        before: ({ folder, environment }) => execFileSync(E2E_PYTHON, ["-P", "-m", "palimpsest", "import", "--folder", folder, session], { env: environment, stdio: "pipe" }),
    });
    const window = await Window.open(browser, lab);
    const show = (name) => window.page.getByRole("tab", { name }).first().click();
    const blank = [];
    const streaming = [];
    for (let round = 0; round < ROUNDS; round++) {
        await show("Blank");
        blank.push(...await typeInto(window.page, await frameWith(window.page, "body > [data-testid=composer]")));
        await window.openPanel();
        await window.panel.getByTestId(`message-${MESSAGES - 1 + 2 * round}`).waitFor();
        const frame = await frameWith(window.page, "#root [data-testid=composer]");
        await window.send(`Explain all steps, please (${round}).`);
        const length = () => frame.evaluate(() => document.querySelector("[data-testid=live]")?.textContent.length ?? 0);
        await until("a long answer streams", async () => (await length()) > LONG, 180_000);
        const from = { at: performance.now(), length: await length() };
        streaming.push(...await typeInto(window.page, frame));
        const seconds = (performance.now() - from.at) / 1000;
        console.log(`round ${round + 1}: the answer grew by ${Math.round((await length() - from.length) / seconds)} shown characters a second, of ${DELTAS_A_SECOND * DELTA_CHARACTERS} sent`);
        await window.panel.getByRole("button", { name: "Stop" }).click();
        await window.answered(MESSAGES + 1 + 2 * round);
    }
    await window.shot("typing");
    describe("blank webview", blank);
    describe("panel, an answer streaming", streaming);
    const more = percentile(streaming, 0.95) - percentile(blank, 0.95);
    console.log(`p95: ${more.toFixed(1)} ms more than in a blank webview; less than ${MOST_MORE_MS} ms is ${more < MOST_MORE_MS ? "met" : "NOT MET"}`);
} finally {
    await browser.close();
    await lab?.stop();
    model.stop();
}
