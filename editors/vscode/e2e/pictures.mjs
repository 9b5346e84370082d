/** Photographs the extension in a real VS Code for the README. Makes pictures; it is no test. See `make pictures`. */
import { mkdirSync } from "node:fs";
import path from "node:path";

import { startLab, startModel } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const PICTURES = path.join(import.meta.dirname, "../../../docs/pictures");
const SOURCE = `"""Prices, in cents."""

RATE = 0.19


def gross(net):
    """The net price with tax."""
    return round(net * (1 + RATE))
`;
const FACT = "Gross prices are rounded once, after the tax.";
const ANSWERS = [
    { text: "", calls: [{ name: "read_file", arguments: { path: "src/prices.py" } }] },
    { text: "In one place: `RATE`, line 3 of `src/prices.py`. Only `gross` uses it:\n\n```python\nreturn round(net * (1 + RATE))\n```\n\nThe price is rounded **once**, after the tax, so sums of many items stay right." },
    { text: "Understood. The reduced rate goes beside it:\n\n```python\nRATE = 0.19\nREDUCED = 0.07\n```" },
];

const model = await startModel(ANSWERS, 50);
const lab = await startLab("pictures", {
    env: { ...model.env, PALIMPSEST_MODEL: "openai/made-up", PALIMPSEST_SUMMARIZATION_KIND: "extractive" },
    files: { "src/prices.py": SOURCE },
    settings: { "window.title": "shop", "breadcrumbs.enabled": false, "git.enabled": false },
});
const browser = await startBrowser();
const window = await Window.open(browser, lab, { width: 1100, height: 700 }, lab.urlOf("src/prices.py"));

async function shot(name) {
    await window.page.screenshot({ animations: "disabled", path: path.join(PICTURES, `${name}.png`) });
}

/** Makes the side bar wider by its edge. */
async function widen(byPixels) {
    const bar = await window.page.locator("#workbench\\.parts\\.sidebar").boundingBox();
    await window.page.mouse.move(bar.x + bar.width, 400);
    await window.page.mouse.down();
    await window.page.mouse.move(bar.x + bar.width + byPixels, 400, { steps: 5 });
    await window.page.mouse.up();
}

mkdirSync(PICTURES, { recursive: true });
try {
    await window.openPanel();
    await widen(130);
    await window.send("Where is the tax rate kept?");
    await window.answered(3);
    await window.send("Never put a rate into a second file.");
    await window.answered(5);
    await window.page.mouse.move(800, 500); // away from whatever shows a tooltip
    await window.page.getByRole("tooltip").waitFor({ state: "hidden" });
    await window.page.locator(".monaco-sash.hover").waitFor({ state: "detached" });
    await shot("conversation");

    await window.focusFile("src/prices.py");
    await window.goTo(6);
    for (const key of ["Shift+ArrowDown", "Shift+ArrowDown", "Shift+End"]) {
        await window.page.keyboard.press(key);
    }
    await window.palette("Palimpsest: Add a Fact About the Selection");
    await window.page.getByText("What is true of the selected lines?").first().waitFor();
    await window.page.locator(".quick-input-widget input[type=text]").first().fill(FACT);
    await window.page.keyboard.press("Enter");
    await window.page.locator(".codelens-decoration", { hasText: "1 fact" }).waitFor();
    await window.page.getByRole("button", { name: "Facts Section" }).click();
    await window.goTo(8);
    await window.page.keyboard.press("End");
    await window.page.keyboard.press("Shift+Home");
    await window.page.keyboard.type("return math.floor(net * (1 + RATE))");
    await window.page.locator(".monaco-editor .squiggly-warning").first().waitFor();
    await window.page.keyboard.press("Control+S");
    await window.page.getByRole("tree", { name: "Facts" }).getByRole("treeitem", { name: `To check: ${FACT}` }).waitFor();
    await window.page.locator(".monaco-editor .view-line", { hasText: "def gross" }).getByText("gross").hover();
    await window.page.locator(".monaco-hover", { hasText: FACT }).first().waitFor();
    await shot("stale-fact");

    await window.palette("Palimpsest: Show What the Model Sees");
    await window.panel.getByRole("region", { name: "What the model sees" }).waitFor();
    await window.page.mouse.move(800, 500);
    await window.page.getByRole("tooltip").waitFor({ state: "hidden" });
    await shot("context");
} catch (problem) {
    await window.shot("failed-pictures");
    throw problem;
} finally {
    await browser.close();
    await lab.stop();
    model.stop();
}
