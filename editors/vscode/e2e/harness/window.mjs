/** One window of VS Code in Chromium, and what a person does in it. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

import { E2E_CHROMIUM, E2E_SHOTS, until } from "./lab.mjs";

const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Until a window is there, on a machine that does other things as well. */
const STARTS_MS = 180_000;

export function startBrowser() {
    return chromium.launch({ executablePath: E2E_CHROMIUM, headless: true, args: ARGUMENTS });
}

export class Window {
    /** Addresses that anything in the window asked for. */
    requests = [];

    static async open(browser, lab, viewport = { width: 1400, height: 900 }, url = lab.url) {
        const context = await browser.newContext({ viewport });
        const window = new Window(await context.newPage(), lab);
        context.on("request", (request) => window.requests.push(request.url()));
        await window.page.goto(url, { timeout: STARTS_MS });
        await window.page.locator(".monaco-workbench").waitFor({ timeout: STARTS_MS });
        return window;
    }

    constructor(page, lab) {
        this.page = page;
        this.lab = lab;
        page.setDefaultTimeout(60_000);
        this.panel = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
    }

    /** The frame of the panel itself, to look into. */
    async frame() {
        const handle = await this.panel.locator("#root").elementHandle();
        return handle.ownerFrame();
    }

    async palette(text) {
        await this.page.keyboard.press("F1");
        const input = this.page.locator(".quick-input-widget input[type=text]").first();
        await input.waitFor();
        await input.fill(`>${text}`);
        await this.page.locator(".quick-input-list .monaco-list-row", { hasText: text.split(": ").at(-1) }).first().waitFor();
        await this.page.keyboard.press("Enter");
    }

    /** The cursor of the focused editor, to `LINE` or `LINE:COLUMN`; keys go to the editor again when it comes back. */
    async goTo(line) {
        await this.page.keyboard.press("Control+G");
        const input = this.page.locator(".quick-input-widget input[type=text]").first();
        await input.fill(`:${line}`);
        await this.page.keyboard.press("Enter");
        await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    }

    /** The rows with that title in the menu of code actions. `go` brings the cursor, or a selection, where it is opened:
     * Escape, which closes an older menu, also ends a selection. */
    async codeActions(title, go = async () => {}) {
        const rows = this.page.locator(".action-widget .monaco-list-row", { hasText: title });
        await until(`${title} is offered`, async () => {
            // A server that has just started, or reads what has just changed, offers nothing yet.
            await this.page.keyboard.press("Escape");
            await go();
            await this.page.keyboard.press("Control+.");
            return rows.last().waitFor({ timeout: 5_000 }).then(() => true, () => false);
        });
        return rows;
    }

    async openPanel() {
        await this.page.getByRole("tab", { name: "Palimpsest" }).first().click();
        await this.panelReady();
    }

    /** The panel is there, by itself in a window that is loaded again. */
    async panelReady(limitMs = STARTS_MS) {
        await this.panel.getByTestId("panel").and(this.panel.locator("[data-phase=ready]")).waitFor({ timeout: limitMs });
    }

    /** The keyboard goes to the file, which the window was opened with. */
    async focusFile(file) {
        await this.page.locator(`.editor-group-container .tab.active[data-resource-name="${path.basename(file)}"]`).waitFor();
        await this.page.locator(".monaco-editor .view-line").first().click();
    }

    get composer() {
        return this.panel.getByRole("textbox", { name: "Message", exact: true });
    }

    async send(text) {
        await this.composer.fill(text);
        await this.composer.press("Enter");
    }

    /** The answer has ended and is stored as this message. */
    async answered(id) {
        await this.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
        const message = this.panel.getByRole("article", { name: `Palimpsest, message ${id}`, exact: true });
        await message.waitFor({ timeout: 60_000 });
        return message;
    }

    async liveText() {
        return (await this.panel.getByTestId("live").allInnerTexts()).join("");
    }

    streaming(least = 40) {
        return until("words stream", async () => (await this.liveText()).length > least);
    }

    /** What stood there when a test failed. */
    async shotOfFailure(context) {
        if (context.passed === false) {
            await this.shot(`failed-${context.name.replaceAll(/\W+/g, "-").slice(0, 60)}`);
        }
    }

    async shot(name) {
        mkdirSync(E2E_SHOTS, { recursive: true });
        // Away from what shows a tooltip.
        await this.page.mouse.move(900, 15);
        await this.page.screenshot({ path: path.join(E2E_SHOTS, `${name}.png`) });
        writeFileSync(path.join(E2E_SHOTS, `${name}.txt`), await this.words());
    }

    /** What a person reads of Palimpsest now, beside each picture. */
    async words() {
        const status = '.statusbar-item[id$="palimpsest.usage"]';
        const read = async (what, locator) => (await locator.allInnerTexts()).filter((text) => text.trim() !== "").map((text) => `## ${what}\n\n${text.trim()}\n`);
        const shown = (selector) => this.page.locator(`${selector} >> visible=true`);
        const found = await Promise.all([
            read("Panel", this.panel.locator("#root")),
            read("List", shown(".quick-input-widget")),
            read("Dialog", shown(".monaco-dialog-box")),
            read("Notification", shown(".notification-list-item")),
            read("Status bar", shown(status)),
        ]);
        return found.flat().join("\n");
    }
}
