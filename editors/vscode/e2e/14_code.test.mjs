/** A chat about code begins with VS Code's own code actions, a command of one's own words a message, and every slash command answers. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { E2E_PYTHON, packExtension, startLab, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const SOURCE = `// Pumps.

export function start(): number {
    const pump: number = "eighteen"; // the gate
    return pump;
}
`;
const ROOT = path.resolve(import.meta.dirname, "../../..");
/** Each command as it is typed, and what its answer says: the table of the Python tests. */
const EXAMPLES = JSON.parse(execFileSync(E2E_PYTHON, ["-c", "import json; from tests.slash import EXAMPLES, typed; print(json.dumps([[typed(name), said] for name, (_, said) in EXAMPLES.items()]))"], { cwd: ROOT, env: { ...process.env, PYTHONPATH: `${ROOT}:${ROOT}/server:${ROOT}/clients` } }).toString());
/** Without a model these say something else. */
const OFFLINE = { "/model": "offline (default)", "/cost": "", "/stats": "", "/search gate": "message 0", "/retry": "answered again" };
let lab, browser, window;

before(async () => {
    lab = await startLab("code", {
        files: { "src/pump.ts": SOURCE },
        extensions: [packExtension("linter")],
        before: ({ home }) => {
            const commands = path.join(home, "config/palimpsest/commands");
            mkdirSync(commands, { recursive: true });
            writeFileSync(path.join(commands, "re-view.md"), "---\ndescription: Look twice\narguments: WHAT\n---\nReview $1 *twice*.\n");
        },
    });
    browser = await startBrowser();
    window = await Window.open(browser, lab, undefined, lab.urlOf("src/pump.ts"));
    await window.openPanel();
    await window.focusFile("src/pump.ts");
});

after(async () => {
    await browser?.close();
    await lab?.stop();
});

afterEach((context) => window.shotOfFailure(context));

async function act(title, select = false) {
    const go = async () => {
        await window.page.locator(".monaco-editor .view-line").first().click();
        await window.goTo("4:28");
        if (select) {
            await window.page.keyboard.press("Shift+ArrowDown");
        }
    };
    await (await window.codeActions(title, go)).last().click(); // VS Code's own Explain comes before ours
}

const drafts = (wanted) => until(`the draft is ${wanted}`, async () => (await window.composer.inputValue()).endsWith(wanted));

test("a problem of another language server is a quick fix that asks about it", async () => {
    await window.page.locator(".monaco-editor .squiggly-error").first().waitFor();
    await act("Fix this problem");
    await until("the draft quotes the problem", async () => (await window.composer.inputValue()) === "Fix this problem in @src/pump.ts:3-6.\n\n> Write 18. [lint L18]");
    await window.shot("code-fix");
});

test("what the cursor is in is explained and tested, a selection is asked about, each behind what is typed", async () => {
    await act("Explain");
    await drafts("Explain @src/pump.ts:3-6.");
    await act("Write tests");
    await drafts("\n\nWrite tests for @src/pump.ts:3-6.");
    await act("Ask about selection", true);
    await drafts("\n\nAbout @src/pump.ts:4-5: ");
    await until("the composer has the focus", () => window.composer.evaluate((element) => element.ownerDocument.activeElement === element));
});

test("the lines that the message mentions go with it", async () => {
    await window.send("Explain @src/pump.ts:3-6, please, and @problems.");
    await window.answered(1);
    const said = await window.panel.getByTestId("message-0").innerText();
    assert.match(said, /src\/pump\.ts:3-6/);
    assert.match(said, /problems/);
});

test("a command of one's own is completed and becomes the draft", async () => {
    await window.composer.fill("");
    await window.composer.pressSequentially("/re-v");
    await window.panel.getByRole("option", { name: /re-view WHAT/ }).waitFor();
    await window.send("/re-view the-pump");
    await drafts("Review the-pump *twice*.");
    await window.shot("code-own-command");
});

for (const [typed, expected] of EXAMPLES) {
    test(`${typed} is answered`, async () => {
        const wanted = OFFLINE[typed] ?? expected;
        await window.panel.getByTestId("live").waitFor({ state: "detached" }); // the answer of /retry
        await window.send(typed);
        await until(`${typed} says ${wanted}`, async () => {
            const said = (await window.panel.locator("#root").innerText()).replaceAll(/\s+/g, " ");
            return said.includes(wanted.replaceAll(/\s+/g, " "));
        });
    });
}

test("what the newest command of the terminal wrote goes with a message that mentions it", async () => {
    await window.page.locator(".monaco-editor .view-line").first().click();
    await window.page.keyboard.press("Control+Backquote");
    const marks = window.page.locator(".terminal-command-decoration"); // beside each prompt: the shell's integration
    await marks.first().waitFor({ timeout: 60_000 });
    // VS Code tells nothing of what comes in one piece with the beginning of a command.
    await window.page.keyboard.type("sleep 2; echo zqx-$((6*7)); sleep 1");
    await window.page.keyboard.press("Enter");
    await window.page.locator(".terminal-command-decoration.codicon-terminal-decoration-success").first().waitFor();
    await window.send("Seen @terminal?");
    await until("the message has it", async () => /Seen @terminal\?\s*terminal/.test(await window.panel.locator("#root").innerText()));
    await window.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
    await window.send("/search zqx-42");
    await until("its text is found", async () => /message \d+[\s\S]*zqx-42/.test(await window.panel.locator("#root").innerText()));
    await window.shot("code-terminal");
});
