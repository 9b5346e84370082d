/**
 * Photographs each page of the panel, of the real extension in a real VS Code, at four widths and in four themes, looks at
 * each with axe, and writes one HTML page of it. Fails when axe finds something, a control leaves the panel, or a page does not
 * come about; what else the pictures show is for eyes. See `make vscode-gallery`.
 *
 *     gallery.mjs [folder of design pictures, NUMBER-PAGE-THEME-WIDTHS.png, shown beside] [only these pages, with commas]
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { writePage } from "./gallery/page.mjs";
import { ANSWERS, FILES, SCENES, START, TROUBLE, TROUBLES } from "./gallery/scenes.mjs";
import { startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const OUT = path.join(import.meta.dirname, "../../../build/vscode-gallery");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const THEMES = { dark: "Dark Modern", light: "Light Modern", hcdark: "Dark High Contrast", hclight: "Light High Contrast" };
const CLASSES = { dark: "vscode-dark", light: "vscode-light", hcdark: "vscode-high-contrast", hclight: "vscode-high-contrast-light" };
const WIDTHS = [280, 340, 480, 900];
const VIEWPORT = { width: 1500, height: 960 };
const SETTINGS = { "window.title": "shop", "breadcrumbs.enabled": false, "git.enabled": false, "window.autoDetectColorScheme": false };

const [designs, only] = process.argv.slice(2);
const isWanted = (scene) => only === undefined || only.split(",").some((each) => scene.name.startsWith(each));
const pictures = [];
const findings = [];

/** The side bar, by its edge, until the panel is as wide as that. */
async function setWidth(window, wanted) {
    const frame = await window.frame();
    for (let n = 0; n < 4; n++) {
        const change = wanted - (await frame.evaluate(() => innerWidth));
        if (change === 0) {
            return;
        }
        const bar = await window.page.locator("#workbench\\.parts\\.sidebar").boundingBox();
        await window.page.mouse.move(bar.x + bar.width, 450);
        await window.page.mouse.down();
        await window.page.mouse.move(bar.x + bar.width + change, 450, { steps: 4 });
        await window.page.mouse.up();
        await frame.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    }
}

async function setTheme(window, theme) {
    await window.page.keyboard.press("F1");
    const input = window.page.locator(".quick-input-widget input[type=text]").first();
    await input.fill(">Preferences: Color Theme");
    await window.page.locator('.quick-input-list .monaco-list-row[aria-label^="Preferences: Color Theme"]').first().click();
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Light Modern" }).first().waitFor();
    await input.fill(THEMES[theme]);
    await window.page.locator(".quick-input-list .monaco-list-row", { hasText: THEMES[theme] }).first().click();
    await window.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    const frame = await window.frame();
    await until(`the theme is ${theme}`, () => frame.evaluate(([wanted, isContrast]) => document.body.classList.contains(wanted) && document.body.className.includes("high-contrast") === isContrast, [CLASSES[theme], theme.startsWith("hc")]));
}

/** What axe finds on the page as it is, with everything shown that hides until it is hovered. */
async function look(window) {
    const frame = await window.frame();
    if (!(await frame.evaluate(() => "axe" in globalThis))) {
        await frame.evaluate(AXE); // through the debugger of the browser: the policy of the panel lets no script in
    }
    return frame.evaluate(async () => {
        const hidden = [...document.querySelectorAll(".acts, .tools")];
        hidden.forEach((each) => each.style.setProperty("opacity", "1"));
        const { violations } = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] });
        hidden.forEach((each) => each.style.removeProperty("opacity"));
        return violations.map((each) => ({ id: each.id, help: each.help, nodes: each.nodes.map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`) }));
    });
}

/** Controls that leave the panel at its width. */
async function leaving(window) {
    const frame = await window.frame();
    return frame.evaluate(() => [...document.querySelectorAll("#root :is(button, textarea, input)")]
        .filter((each) => each.checkVisibility() && each.closest(".diff, pre, .scroll-x") === null)
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => (each.getAttribute("aria-label") ?? each.textContent).slice(0, 60)));
}

async function photograph(window, scene) {
    const frame = await window.frame();
    for (const theme of Object.keys(THEMES)) {
        await setTheme(window, theme);
        for (const width of WIDTHS) {
            await setWidth(window, width);
            await window.page.mouse.move(VIEWPORT.width - 40, 500); // away from whatever shows a tooltip
            await scene.settle?.(window);
            const file = `${scene.name}-${theme}-${width}.png`;
            const box = await (await frame.frameElement()).boundingBox();
            await window.page.screenshot({ animations: "disabled", path: path.join(OUT, file), clip: box });
            const out = await leaving(window);
            pictures.push({ scene: scene.name, theme, width, file, out });
            if (width === 340) {
                findings.push({ scene: scene.name, theme, found: await look(window) });
            }
        }
    }
    await setTheme(window, "dark");
    await setWidth(window, 340);
}

async function show(name, scenes, { env, script }) {
    const wanted = scenes.filter(isWanted);
    if (wanted.length === 0) {
        return;
    }
    const model = script === undefined ? undefined : await startModel(script, 60);
    const lab = await startLab(`gallery-${name}`, { env: { ...model?.env, ...env, PALIMPSEST_SUMMARIZATION_KIND: "extractive" }, files: FILES, settings: SETTINGS });
    const browser = await startBrowser();
    try {
        const window = await Window.open(browser, lab, VIEWPORT, lab.urlOf("src/prices.py"));
        await window.openPanel();
        await setWidth(window, 340);
        // A scene begins where the one before ends, so those before a wanted one are gone through as well.
        for (const scene of scenes.slice(0, scenes.findLastIndex(isWanted) + 1)) {
            console.log(scene.name);
            try {
                await scene.prepare(window, lab);
                if (isWanted(scene)) {
                    await photograph(window, scene);
                }
            } catch (problem) {
                await window.shot(`failed-gallery-${scene.name}`);
                console.error(`${scene.name}: ${problem.message.split("\n")[0]}`);
                pictures.push({ scene: scene.name, problem: problem.message.split("\n")[0] });
            }
        }
    } finally {
        await browser.close();
        await lab.stop();
        model?.stop();
    }
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
await show("start", START, { env: {} });
await show("pages", SCENES, { script: ANSWERS, env: {} });
await show("trouble", TROUBLES, { script: TROUBLE, env: {} });
const n = writePage(OUT, { scenes: [...START, ...SCENES, ...TROUBLES].filter(isWanted), pictures, findings, designs, themes: Object.keys(THEMES) });
const missing = pictures.filter((each) => each.problem !== undefined);
const cut = pictures.filter((each) => each.out?.length > 0);
console.log(`${pictures.length - missing.length} pictures, ${n} findings of axe, ${cut.length} with controls that leave the panel, ${missing.length} pages not shown: ${path.join(OUT, "index.html")}`);
process.exitCode = n + cut.length + missing.length === 0 ? 0 : 1;
