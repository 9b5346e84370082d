/** The panel for everybody: named, in reach of the keyboard, readable in each theme, and without overlaps when narrow. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ANSWER = "## Gross prices\n\nThe *rate* stands in `prices.py`; see [the page](https://example.org/).\n\n```py\ndef gross(net: float) -> float:\n    \"\"\"With tax.\"\"\"\n    return round(net * 1.19, 2)  # cents\n```\n\n| net | gross |\n|---|---|\n| 100 | 119 |\n";
const THEMES = { dark: "Default Dark Modern", light: "Default Light Modern", "high-contrast": "Default High Contrast", "high-contrast-light": "Default High Contrast Light" };
let lab, model, browser, window;

before(async () => {
    model = await startModel([{ text: ANSWER, thinking: "Where is the rate?" }], 40);
    lab = await startLab("people", { env: model.env, files: { "src/prices.py": "def gross(net):\n    return net * 1.19\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.openPanel();
    await window.send("What are gross prices?");
    await window.answered(1);
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

/** What axe finds. Toolbars of messages show on hover or focus: they are made visible to be judged. */
async function findings() {
    const frame = await window.frame();
    return frame.evaluate(async () => {
        document.querySelectorAll(".message .tools, .acts").forEach((each) => each.style.setProperty("opacity", "1"));
        const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
        document.querySelectorAll(".message .tools, .acts").forEach((each) => each.style.removeProperty("opacity"));
        return violations.map((each) => `${each.id}: ${each.nodes.map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join("; ")}`);
    });
}

/** Pairs of controls or texts that are seen and lie on each other. */
async function overlaps() {
    const frame = await window.frame();
    return frame.evaluate(() => {
        const seen = [...document.querySelectorAll("#root :is(button, textarea, input, h1, summary, .compact, .card p)")].filter((each) => each.checkVisibility({ opacityProperty: true, contentVisibilityAuto: true }) && each.closest(".messages") === null);
        const boxes = seen.map((each) => ({ each, box: each.getBoundingClientRect() })).filter(({ box }) => box.width > 0);
        const found = [];
        for (const [index, one] of boxes.entries()) {
            if (one.box.right > innerWidth + 1 || one.box.left < -1) {
                found.push(`${one.each.textContent} leaves the panel`);
            }
            for (const other of boxes.slice(index + 1)) {
                const isInside = one.each.contains(other.each) || other.each.contains(one.each);
                const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
                const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
                if (!isInside && width > 1 && height > 1) {
                    found.push(`${one.each.textContent} / ${other.each.textContent}`);
                }
            }
        }
        return found;
    });
}

async function bringAxe() {
    // Through the debugger of the browser: the policy of the panel lets no script in.
    const frame = await window.frame();
    if (!(await frame.evaluate(() => "axe" in globalThis))) {
        await frame.evaluate(AXE);
    }
}

for (const [name, theme] of Object.entries(THEMES)) {
    test(`axe finds nothing in ${name}, in any page of the panel`, async () => {
        await window.page.context().close();
        lab.set({ "workbench.colorTheme": theme, "window.autoDetectColorScheme": false });
        window = await Window.open(browser, lab);
        await window.openPanel();
        await window.panel.getByRole("article", { name: "Palimpsest, message 1", exact: true }).waitFor();
        const wanted = { dark: "vscode-dark", light: "vscode-light", "high-contrast": "vscode-high-contrast", "high-contrast-light": "vscode-high-contrast-light" }[name];
        const frame = await window.frame();
        await until(`the theme is ${name}`, () => frame.evaluate((each) => document.body.classList.contains(each), wanted));
        await bringAxe();
        assert.deepEqual(await findings(), []);
        await window.panel.getByTestId("list").click();
        await window.panel.getByTestId("conversations").waitFor();
        assert.deepEqual(await findings(), []);
        await window.panel.getByRole("button", { name: "Back" }).click();
        await window.panel.getByTestId("window-bar").click();
        await window.panel.getByTestId("sees-what").click();
        await window.panel.getByTestId("segment").first().waitFor();
        assert.deepEqual(await findings(), []);
        await window.panel.getByRole("button", { name: "List", exact: true }).click();
        assert.deepEqual(await findings(), []);
        await window.panel.getByRole("button", { name: "Back" }).click();
        await window.panel.getByTestId("list-facts").click();
        await window.panel.getByTestId("facts").waitFor();
        assert.deepEqual(await findings(), []);
        await window.panel.getByRole("button", { name: "Back" }).click();
        await window.shot(`theme-${name}`);
    });
}

test("the keyboard alone reaches everything that can be pressed", async () => {
    await window.composer.focus();
    const frame = await window.frame();
    const wanted = await frame.evaluate(() => [...document.querySelectorAll("#root :is(button:not(:disabled), textarea, summary, [tabindex='0'])")].length);
    await frame.evaluate(() => { document.querySelector("#root button").focus(); });
    const reached = new Set();
    for (let n = 0; n < wanted + 5; n++) {
        reached.add(await frame.evaluate(() => [...document.querySelectorAll("*")].indexOf(document.activeElement)));
        await window.page.keyboard.press("Tab");
    }
    const missed = await frame.evaluate((seen) => [...document.querySelectorAll("#root :is(button:not(:disabled), textarea, summary, [tabindex='0'])")].filter((each) => !seen.includes([...document.querySelectorAll("*")].indexOf(each))).map((each) => each.outerHTML.slice(0, 200)), [...reached]);
    assert.deepEqual(missed, []);
    await window.composer.focus();
    await window.page.keyboard.type("@pri");
    const list = window.panel.getByRole("listbox", { name: "Completions" });
    await list.getByRole("option").first().waitFor();
    await window.page.keyboard.press("Enter");
    await window.panel.getByRole("list", { name: /^Attachments/ }).waitFor();
    assert.match(await window.composer.inputValue(), /prices\.py/);
});

test("no boxes lie on each other at 200 pixels of width, nor at the usual width", async () => {
    assert.deepEqual(await overlaps(), []);
    const frame = await window.frame();
    const sash = await window.page.locator(".part.sidebar").boundingBox();
    await window.page.mouse.move(sash.x + sash.width, 400);
    await window.page.mouse.down();
    await window.page.mouse.move(sash.x + 205, 400, { steps: 5 });
    await window.page.mouse.up();
    await until("the panel is narrow", () => frame.evaluate(() => innerWidth <= 215));
    console.log(`narrow panel: ${await frame.evaluate(() => innerWidth)} px`);
    assert.deepEqual(await overlaps(), []);
    assert.equal(await frame.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    await window.shot("narrow");
});
