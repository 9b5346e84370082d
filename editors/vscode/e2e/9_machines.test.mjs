/** Two members of a team on two machines: ann with VS Code; bob with VS Code and Neovim, on another branch. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { startHub } from "./harness/hub.mjs";
import { E2E_PYTHON, E2E_RUNS, startLab, startModel, until } from "./harness/lab.mjs";
import { Neovim } from "./harness/neovim.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const SOURCE = `"""Pumps."""\n\nPRESSURE = 17\n\n\ndef is_on(meter):\n    return meter > PRESSURE\n`;
const FACT = "A pump is on above a pressure of 17 bars.";
const REMOTE = "git@git.example.org:pumps/hall.git";
const ROOT = path.join(import.meta.dirname, "../../..");
const LEARN = path.join(import.meta.dirname, "harness/learn.py");
const ORIGIN = path.join(E2E_RUNS, "hall.git");
let hub, quick, slow, ann, bob, neovim, browser, here, there;

function git(folder, ...words) {
    const who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    execFileSync("git", [...who, ...words], { cwd: folder, stdio: "pipe" });
}

function makeOrigin() {
    rmSync(ORIGIN, { recursive: true, force: true });
    mkdirSync(path.join(ORIGIN, "src"), { recursive: true });
    writeFileSync(path.join(ORIGIN, "src/pump.py"), SOURCE);
    git(ORIGIN, "init", "-q");
    git(ORIGIN, "add", ".");
    git(ORIGIN, "commit", "-qm", "first");
    git(ORIGIN, "checkout", "-qb", "wet");
    writeFileSync(path.join(ORIGIN, "src/pump.py"), SOURCE.replace("meter > PRESSURE", "meter >= 2 * PRESSURE"));
    git(ORIGIN, "commit", "-qam", "wet");
}

function startMachine(name, branch, model) {
    const before = (lab) => {
        git(lab.folder, "clone", "-q", "-b", branch, ORIGIN, ".");
        git(lab.folder, "remote", "set-url", "origin", REMOTE);
        if (name === "ann") {
            execFileSync(E2E_PYTHON, ["-P", LEARN, lab.folder, "src/pump.py", "is_on", FACT], { env: { ...lab.environment, PYTHONPATH: ROOT }, stdio: "pipe" });
        }
    };
    return startLab(`machine-${name}`, { env: { ...model.env, ...hub.env[name] }, before });
}

before(async () => {
    hub = await startHub("ann", "bob");
    if (hub === undefined) {
        return;
    }
    makeOrigin();
    quick = await startModel([], 40);
    slow = await startModel([], 12);
    browser = await startBrowser();
    ann = await startMachine("ann", "main", slow);
    bob = await startMachine("bob", "wet", quick);
    here = await Window.open(browser, ann, undefined, ann.urlOf("src/pump.py"));
    await here.openPanel();
    there = await Window.open(browser, bob, undefined, bob.urlOf("src/pump.py"));
    await there.openPanel();
});

after(async () => {
    neovim?.stop();
    await browser?.close();
    await ann?.stop();
    await bob?.stop();
    quick?.stop();
    slow?.stop();
    hub?.stop();
});

afterEach(async (context) => {
    await here?.shotOfFailure({ ...context, passed: context.passed, name: `ann ${context.name}` });
    await there?.shotOfFailure({ ...context, passed: context.passed, name: `bob ${context.name}` });
});

/** A test that needs the hub. */
function shared(name, body) {
    test(name, async (context) => {
        if (hub === undefined) {
            context.skip("There is no PostgreSQL here: install the package postgresql.");
            return;
        }
        await body(context);
    });
}

const article = (window, name) => window.panel.getByRole("article", { name, exact: true });

shared("ann reads what sharing means, then shares; bob opens what she shares", async () => {
    await here.send("My key is AKIAIOSFODNN7EXAMPL2. Where is the pump?");
    await here.answered(1);
    await here.panel.getByTestId("share").click();
    const plan = here.panel.getByTestId("share-plan");
    await plan.waitFor();
    const text = await plan.innerText();
    assert.match(text, /pumps/);
    assert.match(text, /bob/);
    assert.match(text, /AWS access key/);
    await here.shot("machines-share");
    await here.panel.getByTestId("confirm-share").click();
    await here.panel.getByTestId("shared-mark").waitFor();
    await here.shot("machines-shared");
    await there.panel.getByTestId("list").click();
    await there.panel.getByTestId("list-shared").click();
    await there.panel.getByTestId("shared").getByRole("button", { name: /Where is the pump/ }).click();
    const message = article(there, "You, message 0").or(there.panel.getByTestId("message-0")).first();
    await message.waitFor();
    assert.match(await message.innerText(), /redacted: AWS access key/);
    await there.shot("machines-opened");
});

shared("bob and his Neovim watch her answer grow, and see who writes", async () => {
    neovim = await Neovim.start(bob, "neovim");
    neovim.lua('vim.cmd("Palimpsest open") return true');
    await neovim.shows("Where is the pump?");
    await here.send("list 300");
    await there.panel.getByTestId("writer").waitFor();
    assert.match(await there.panel.getByTestId("writer").innerText(), /ann/);
    await there.streaming(200);
    await neovim.shows("Item 20 of 300");
    await there.shot("machines-watched");
    await here.answered(3);
    await there.panel.getByTestId("message-3").getByText("Item 300 of 300").waitFor({ timeout: 60_000 });
    await neovim.shows("Item 300 of 300", 60_000);
    await there.panel.getByTestId("writer").waitFor({ state: "detached" });
});

shared("bob takes over, and ann reads what he asked and was answered", async () => {
    await there.send("and the stork");
    await there.panel.getByTestId("message-5").getByText("You said: and the stork").waitFor({ timeout: 60_000 });
    await here.panel.getByTestId("message-5").getByText("You said: and the stork").waitFor({ timeout: 60_000 });
    await here.shot("machines-taken-over");
});

shared("while ann writes, bob goes on in a fork", async () => {
    await here.send("list 250");
    await there.panel.getByTestId("writer").waitFor();
    await there.composer.fill("in my fork");
    await there.panel.getByRole("button", { name: "Go on in a fork" }).first().click();
    await article(there, "You, message 7").getByText("in my fork").waitFor({ timeout: 60_000 });
    await there.shot("machines-fork");
    await there.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
    await here.panel.getByTestId("live").waitFor({ state: "detached", timeout: 120_000 });
    await here.panel.getByTestId("message-7").waitFor();
});

async function openBobs(title) {
    await there.panel.getByTestId("list").click();
    await there.panel.getByTestId("conversations").getByRole("button", { name: title }).first().click();
}

shared("without the hub bob reads on, and what he asks goes on in a fork; back, he has what ann said", async () => {
    await openBobs(/Where is the pump\?[^(]*$/);
    await there.panel.getByTestId("message-7").waitFor({ timeout: 60_000 });
    await hub.cut("bob");
    await there.send("is anybody there");
    await there.panel.getByTestId("fork-and-go-on").waitFor({ timeout: 90_000 });
    await there.shot("machines-offline");
    await here.send("said meanwhile");
    await here.panel.getByTestId("message-9").waitFor({ timeout: 60_000 });
    await there.panel.getByTestId("fork-and-go-on").click();
    await there.panel.getByText("You said: is anybody there").first().waitFor({ timeout: 60_000 });
    await hub.mend("bob");
    await openBobs(/Where is the pump\?[^(]*$/);
    await there.panel.getByTestId("message-9").getByText("You said: said meanwhile").waitFor({ timeout: 120_000 });
    await there.shot("machines-back");
});

shared("what ann purges is gone on bob's machine, and she sees that", async () => {
    await here.send("/purge 4-6 yes");
    await until("bob's panel shows nothing of it", async () => !(await there.panel.getByTestId("messages").innerText()).includes("and the stork"), 60_000);
    await until("nor does his Neovim", () => !neovim.transcript().includes("You said: and the stork"), 60_000);
    await here.panel.getByTestId("shared-mark").click();
    const readers = here.panel.getByTestId("readers");
    await until("both stores have everything", async () => {
        await readers.getByRole("button", { name: "Ask again" }).click();
        return ((await readers.innerText()).match(/has everything/g) ?? []).length >= 2;
    }, 60_000);
    await here.shot("machines-purged");
    await there.shot("machines-purged-there");
});

shared("a fact of the repository holds on ann's branch, and is stale on bob's", async () => {
    await here.focusFile("src/pump.py");
    await here.page.locator(".codelens-decoration", { hasText: "1 fact" }).waitFor();
    for (const window of [here, there]) {
        await window.send("/share facts yes");
        await window.panel.getByText(/can read \d+ facts? of this folder/).waitFor();
    }
    await there.focusFile("src/pump.py");
    await there.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ timeout: 60_000 });
    assert.equal(await here.page.locator(".monaco-editor .squiggly-warning").count(), 0);
    await here.shot("machines-fact-fresh");
    await there.shot("machines-fact-stale");
});
