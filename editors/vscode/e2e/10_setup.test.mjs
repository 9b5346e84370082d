/** From nothing: no Python that will do, then one that is chosen; quotes; a key that is refused and one that is not; Ollama. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { E2E_WHEELS, freePort, startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const FIRST = "sk-first-key-0123456789";
const SECOND = "sk-second-key-9876543210";
let lab, browser, window, model, gate, accepted;

/** The fake model service behind a check of the key. */
function startGate() {
    accepted = FIRST;
    const server = http.createServer((request, response) => {
        if (request.headers.authorization !== `Bearer ${accepted}`) {
            response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error: { code: "invalid_api_key", message: "Incorrect API key provided." } }));
            return;
        }
        const passed = http.request(`${model.url}${request.url}`, { method: request.method, headers: request.headers }, (answer) => {
            response.writeHead(answer.statusCode, answer.headers);
            answer.pipe(response);
        });
        request.pipe(passed);
    });
    server.listen(0, "127.0.0.1");
    return server;
}

before(async () => {
    model = await startModel([], 200);
    gate = startGate();
    await once(gate, "listening");
    // Without VSCODE_CLI the extension host asks a login shell for its PATH.
    const env = { VSCODE_CLI: "1", PIP_NO_INDEX: "1", PIP_FIND_LINKS: E2E_WHEELS, OPENAI_BASE_URL: `http://127.0.0.1:${gate.address().port}/v1` };
    lab = await startLab("setup", {
        managed: true,
        env,
        files: { "README.md": "# Shop\n\nIt sells lamps.\n" },
        before: ({ root, options }) => {
            // A computer whose only Python is too old.
            const bin = path.join(root, "bin");
            mkdirSync(bin);
            writeFileSync(path.join(bin, "python3"), "#!/bin/sh\necho 3.9\n");
            chmodSync(path.join(bin, "python3"), 0o755);
            options.env.PATH = bin;
            // The one that will do, in a folder of its own: a list of files shows what fits.
            const base = execFileSync("python3", ["-c", "import sys; print(sys.base_prefix + '/bin/python3.%d' % sys.version_info[1])"], { encoding: "utf8" }).trim();
            mkdirSync(path.join(root, "pythons"));
            symlinkSync(base, path.join(root, "pythons", "python-that-will-do"));
        },
    });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    gate?.closeAllConnections();
    gate?.close();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const pick = () => window.page.locator(".quick-input-widget");
const field = () => pick().locator("input").and(pick().locator(":visible")).first();
const row = (text) => pick().locator(".monaco-list-row", { hasText: text }).first();
const toast = (text) => window.page.locator(".notification-list-item", { hasText: text }).first();

async function titled(title) {
    await pick().locator(".quick-input-title", { hasText: title }).waitFor();
}

/** Types into the list or the line that is open. */
async function enter(text) {
    await field().fill(text);
    await window.page.keyboard.press("Enter");
}

async function composerHasFocus() {
    await until("the composer has the focus", () => window.composer.evaluate((element) => element.ownerDocument.hasFocus() && element.ownerDocument.activeElement === element));
}

/** Nothing that the computer keeps outside VS Code's secret storage holds the key. */
function filesWith(text) {
    const found = [];
    const look = (folder) => {
        for (const entry of readdirSync(folder, { withFileTypes: true })) {
            const at = path.join(folder, entry.name);
            if (entry.isDirectory()) {
                look(at);
            } else if (entry.isFile() && readFileSync(at).includes(text)) {
                found.push(path.relative(lab.root, at));
            }
        }
    };
    look(path.join(lab.root, "home"));
    look(path.join(lab.root, "shop"));
    look(path.join(lab.root, "user"));
    return found;
}

test("a computer whose Python is too old says so, and takes another", async () => {
    await window.page.getByRole("tab", { name: "Palimpsest" }).first().click();
    const card = window.panel.getByTestId("server");
    await card.getByText("It needs Python 3.11 or newer; this computer has 3.9. Your conversations are safe.").waitFor({ timeout: 60_000 });
    await window.shot("setup-1-old-python");
    await card.getByRole("button", { name: "Choose Python…" }).click();
    await titled("A Python 3.11 or newer");
    // What is typed before the first list is there would be written over.
    await row("README.md").waitFor();
    const python = path.join(lab.root, "pythons", "python-that-will-do");
    await field().fill(python);
    await row(path.basename(python)).waitFor();
    await window.page.keyboard.press("Enter");
    await card.getByText("Setting up, about 20 seconds the first time…").waitFor();
    await window.shot("setup-2-setting-up");
    await window.panelReady(240_000);
});

test("without a model the panel offers to set one up, and answers with quotes", async () => {
    await window.panel.getByTestId("set-up").getByText("No model is set up yet.").waitFor();
    await window.shot("setup-3-empty");
    await window.send("What does the shop sell?");
    assert.match(await (await window.answered(1)).textContent(), /It sells lamps/);
    await window.panel.getByTestId("quotes-only").getByRole("button", { name: "Add a key or choose a model" }).waitFor();
    await window.shot("setup-4-quotes");
});

test("a refused key is not kept; an accepted one is, its models come next, and the composer has the focus", async () => {
    await window.panel.getByTestId("quotes-only").getByRole("button").click();
    await titled("Add a key or choose a model (1/2)");
    await row("OpenAI").waitFor();
    await window.shot("setup-5-services");
    await row("OpenAI").click();
    await titled("OpenAI key (2/2)");
    await enter("sk-mistyped");
    await pick().getByText("OpenAI did not accept the key. It may be mistyped or revoked.").waitFor();
    await window.shot("setup-6-refused");
    await enter(FIRST);
    await toast("Key for OpenAI saved.").waitFor();
    await titled("Model for this conversation");
    await row("ready to use").waitFor();
    await window.shot("setup-7-models");
    await field().fill("gpt-4o");
    await row("gpt-4o").click();
    await composerHasFocus();
    await window.send("list 3");
    assert.match(await (await window.answered(3)).textContent(), /Item 3 of 3/);
    assert.deepEqual(filesWith(FIRST), []);
});

test("a key that the service revokes is changed from the answer that failed", async () => {
    accepted = SECOND;
    await window.send("list 4");
    const failure = window.panel.getByTestId("failure");
    await failure.getByRole("button", { name: "Switch model…" }).waitFor();
    await window.shot("setup-8-revoked");
    await failure.getByRole("button", { name: "Change key…" }).click();
    await titled("OpenAI key (2/2)");
    await enter(SECOND);
    await titled("Model for this conversation");
    await window.page.keyboard.press("Escape");
    await composerHasFocus();
    await failure.getByRole("button", { name: "Try again" }).click();
    await window.panel.getByText("Item 4 of 4").first().waitFor();
});

test("a model that needs a key leads to its key, and Esc leaves everything as it was", async () => {
    await window.panel.getByTestId("model").click();
    await titled("Model for this conversation");
    await field().fill("claude");
    await row("add a key first").click();
    await titled("Anthropic key (2/2)");
    await window.page.keyboard.press("Escape");
    await composerHasFocus();
});

test("Ollama at another address is set up by that address alone", async () => {
    await window.palette("Palimpsest: Add or Change a Key");
    await titled("Add a key or choose a model (1/2)");
    await row("Models on this computer").click();
    await titled("Address of Ollama");
    await enter(`127.0.0.1:${await freePort()}`);
    await pick().getByText("Nothing answers at http://127.0.0.1:").waitFor();
    await window.shot("setup-9-ollama-away");
    await enter(model.url);
    await toast("Ollama is set up. 1 model is ready.").waitFor();
    await titled("Model for this conversation");
    await row("ollama/fake:latest").click();
    await composerHasFocus();
    await window.send("list 6");
    await window.panel.getByText("Item 6 of 6").first().waitFor();
    await window.shot("setup-10-ollama");
});

test("a key is removed where it was set", async () => {
    await window.palette("Palimpsest: Add or Change a Key");
    await titled("Add a key or choose a model (1/2)");
    await row("key is set").waitFor();
    await row("Remove a key…").click();
    await row("OpenAI").click();
    await toast("Key for OpenAI removed.").waitFor();
    await composerHasFocus();
});
