/** Two members of a team on two machines: ann with VS Code; bob with VS Code and Neovim, on another branch. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { startHub } from "./harness/hub.mjs";
import { E2E_RUNS, E2E_SHOTS, startLab, startModel, until } from "./harness/lab.mjs";
import { Neovim } from "./harness/neovim.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const TEAM = "pump crew";
const SOURCE = `"""Pumps."""\n\nLIMIT = 17\n\n\ndef is_on(meter):\n    return meter > LIMIT\n`;
const FACT = "The pressure limit in src/pump.py is 17 bars (LIMIT).";
const REMOTE = "git@git.example.org:pumps/hall.git";
const ORIGIN = path.join(E2E_RUNS, "hall.git");
const whyNot = Neovim.whyNot();
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
    writeFileSync(path.join(ORIGIN, "src/pump.py"), SOURCE.replace("17", "34"));
    git(ORIGIN, "commit", "-qam", "wet");
}

function startMachine(name, branch, model) {
    const before = (lab) => {
        git(lab.folder, "clone", "-q", "-b", branch, ORIGIN, ".");
        git(lab.folder, "remote", "set-url", "origin", REMOTE);
    };
    return startLab(`machine-${name}`, { env: { ...model.env, ...hub.env[name] }, before });
}

before(async () => {
    hub = whyNot === undefined ? await startHub(TEAM, "ann", "bob") : undefined;
    if (hub === undefined) {
        return;
    }
    makeOrigin();
    quick = await startModel([], 40);
    slow = await startModel([{ text: "Noted." }], 12);
    browser = await startBrowser();
    ann = await startMachine("ann", "main", slow);
    bob = await startMachine("bob", "wet", quick);
    here = await Window.open(browser, ann, undefined, ann.urlOf("src/pump.py"));
    await here.openPanel();
    there = await Window.open(browser, bob, undefined, bob.urlOf("src/pump.py"));
    await there.openPanel();
    neovim = await Neovim.open(bob, "src/pump.py");
    await neovim.shows("def is_on");
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
    if (context.passed === false) {
        await neovim?.shot(browser, "failed-neovim");
    }
});

/** A test that needs the hub. */
function shared(name, body) {
    test(name, async (context) => {
        if (hub === undefined) {
            context.skip(whyNot ?? "There is no PostgreSQL here: install the package postgresql.");
            return;
        }
        await body(context);
    });
}

const said = (window, who, id) => window.panel.getByRole("article", { name: `${who}, message ${id}`, exact: true });

/** What the tooltip of the status bar tells. */
async function tooltip(window) {
    await window.page.mouse.move(900, 15);
    await window.page.locator(".statusbar-item[id$='palimpsest.usage']").first().hover();
    return window.page.locator(".monaco-hover:visible").last().innerText({ timeout: 5_000 }).catch(() => "");
}

async function openShared(window) {
    await window.panel.getByTestId("list").click();
    await choose(window);
}

/** Among the conversations. */
async function choose(window) {
    await window.panel.getByTestId("list-shared").click();
    await window.panel.getByTestId("shared").getByRole("button", { name: /pressure limit/ }).click();
}

async function answered(window, text) {
    await window.panel.getByText(`You said: ${text}`).first().waitFor({ timeout: 60_000 });
    await window.panel.getByTestId("live").waitFor({ state: "detached", timeout: 60_000 });
}

shared("ann reads what sharing means, then shares", async () => {
    await here.send(FACT);
    await here.answered(1);
    await here.send("Where is the pump? My key is AKIAIOSFODNN7EXAMPL2.");
    await here.answered(3);
    await here.panel.getByTestId("share").click();
    const plan = here.panel.getByTestId("share-plan");
    await plan.waitFor();
    const text = await plan.innerText();
    for (const each of [TEAM, "ann (you), bob (writer)", "4 messages", "AWS access key: message 2", "A copy is shared"]) {
        assert.ok(text.includes(each), `${each} in ${text}`);
    }
    await here.shot("machines-01-share-plan");
    await here.panel.getByTestId("confirm-share").click();
    await here.panel.getByTestId("shared-mark").waitFor();
    await here.panel.getByTestId("notice").getByText(TEAM).waitFor();
    await here.shot("machines-02-shared");
});

shared("bob finds it, and reads it with her name and without her key, in both editors", async () => {
    await there.panel.getByTestId("list").click();
    await there.panel.getByTestId("list-shared").click();
    await there.panel.getByTestId("shared").getByRole("button", { name: /pressure limit.*ann/s }).waitFor();
    await there.shot("machines-03-list");
    await there.panel.getByTestId("shared").getByRole("button", { name: /pressure limit/ }).click();
    await said(there, "ann", 0).getByText(FACT).waitFor();
    assert.match(await said(there, "ann", 2).innerText(), /redacted: AWS access key/);
    await there.panel.getByTestId("shared-mark").waitFor();
    await there.shot("machines-04-opened");
    neovim.command("Palimpsest shared");
    await neovim.shows(`Shared with ${TEAM}`, "ann");
    await neovim.shot(browser, "machines-05-neovim-list");
    neovim.type("1");
    await neovim.shows("Answer to ann", "redacted: AWS access key");
    await neovim.shot(browser, "machines-06-neovim-opened");
});

shared("bob and his Neovim watch her answer grow, and see who writes", async () => {
    await here.send("list 200");
    await there.streaming(200);
    assert.match(await there.panel.getByTestId("writer").innerText(), /ann is writing\./);
    await here.shot("machines-07-writing");
    await there.shot("machines-08-growing");
    await neovim.shows("ann is writing", " of 200");
    await neovim.shot(browser, "machines-09-neovim-growing");
    assert.equal(await here.panel.getByTestId("live").count(), 1, "it was seen before it was whole");
    for (const window of [here, there]) {
        assert.match(await (await window.answered(5)).innerText(), /Item 200 of 200/);
    }
    await neovim.shows("Item 200 of 200");
    await there.panel.getByTestId("writer").waitFor({ state: "detached" });
});

shared("bob takes over, in VS Code and in Neovim, and ann reads what he asked and was answered", async () => {
    await there.send("and the stork");
    await answered(there, "and the stork");
    await said(here, "bob", 6).waitFor();
    await answered(here, "and the stork");
    await neovim.shows("You said: and the stork");
    neovim.command("Palimpsest ask and the heron");
    await neovim.shows("You said: and the heron");
    await neovim.shot(browser, "machines-10-neovim-taken-over");
    await said(here, "bob", 8).waitFor();
    await answered(here, "and the heron");
    await here.shot("machines-11-taken-over");
    await answered(there, "and the heron");
});

shared("while ann writes, bob goes on in a fork, which is his alone", async () => {
    await here.send("list 300");
    await there.panel.getByTestId("writer").waitFor();
    await there.composer.fill("in my fork");
    await there.panel.getByRole("button", { name: "Go on in a fork" }).first().click();
    // The fork begins before her question, which waits for its answer.
    await said(there, "You", 10).getByText("in my fork").waitFor({ timeout: 60_000 });
    await there.answered(11);
    assert.equal(await there.panel.getByTestId("shared-mark").count(), 0);
    await there.shot("machines-12-fork");
    await here.answered(11);
    assert.equal(await here.panel.getByText("in my fork").count(), 0);
});

shared("without the hub bob reads on, and what he asks goes on in a fork", async () => {
    await openShared(there);
    await said(there, "Palimpsest", 11).waitFor({ timeout: 60_000 });
    await hub.cut("bob");
    await until("the status bar tells it", async () => /Hub: away since/.test(await tooltip(there)), 60_000);
    await there.page.screenshot({ path: path.join(E2E_SHOTS, "machines-13-tooltip.png") });
    await there.send("is anybody there");
    await there.panel.getByTestId("failure").getByText(/The hub does not answer/).waitFor({ timeout: 60_000 });
    assert.match(await there.panel.getByTestId("shared-mark").innerText(), /^Hub\saway$/);
    await there.shot("machines-14-offline");
    await neovim.shows("the hub is away");
    await neovim.shot(browser, "machines-15-neovim-offline");
    await here.send("said meanwhile");
    await here.answered(13);
    await there.panel.getByTestId("fork-and-go-on").click();
    await answered(there, "is anybody there");
    await there.shot("machines-16-fork-offline");
    await there.panel.getByTestId("list").click();
    await there.panel.getByTestId("list-shared").click();
    await there.panel.getByText("The hub does not answer now. Try again in a moment.").first().waitFor({ timeout: 60_000 });
    await there.shot("machines-17-list-offline");
});

shared("when the hub is back, he has what ann said, and they go on", async () => {
    await hub.mend("bob");
    await until("the status bar tells it", async () => /Hub: connected/.test(await tooltip(there)), 60_000);
    await choose(there);
    await said(there, "ann", 12).getByText("said meanwhile").waitFor({ timeout: 60_000 });
    assert.equal(await there.panel.getByTestId("shared-mark").innerText(), "Shared");
    await there.shot("machines-18-back");
    await neovim.shows("said meanwhile");
    await there.send("here again");
    await said(here, "bob", 14).waitFor();
    await answered(here, "here again");
    await answered(there, "here again");
});

shared("what ann purges is gone on bob's machine, and she sees that", async () => {
    await here.send("/purge 14-15");
    await here.panel.getByTestId("reply").getByText("the hub and the stores of all who have it delete the same").waitFor();
    await here.shot("machines-19-purge-plan");
    await here.send("/purge 14-15 yes");
    for (const window of [here, there]) {
        await window.panel.getByText("Message 14 was deleted for good.").waitFor({ timeout: 60_000 });
        assert.equal(await window.panel.getByTestId("messages").getByText("here again").count(), 0);
    }
    await until("nor does Neovim show it", () => !neovim.screen().includes("here again"), 60_000);
    await neovim.shows("2 messages deleted");
    await here.panel.getByTestId("reply").getByText(/^The content of 2 messages/).waitFor();
    await there.shot("machines-20-purged-there");
    await here.panel.getByTestId("shared-mark").click();
    const readers = here.panel.getByTestId("readers");
    await until("both stores have everything", async () => {
        await readers.getByRole("button", { name: "Ask again" }).click();
        return ((await readers.innerText()).match(/has everything/g) ?? []).length >= 2;
    }, 60_000);
    await here.shot("machines-21-readers");
    neovim.command("Palimpsest readers");
    await neovim.shows("Who reads this conversation:", "this machine has everything");
    await neovim.shot(browser, "machines-22-neovim-readers");
});

shared("a fact of the repository holds on ann's branch, and is stale on bob's", async () => {
    await here.focusFile("src/pump.py");
    await here.page.locator(".codelens-decoration", { hasText: "1 fact" }).waitFor();
    await here.send("/share facts");
    await here.panel.getByTestId("reply").getByText(/will read 1 fact of git\.example\.org\/pumps\/hall/).waitFor();
    await here.shot("machines-23-facts-plan");
    for (const window of [here, there]) {
        await window.send("/share facts yes");
        await window.panel.getByText(/can read \d+ facts? of this folder/).waitFor();
    }
    await there.focusFile("src/pump.py");
    await there.page.locator(".monaco-editor .squiggly-warning").first().waitFor({ timeout: 60_000 });
    assert.equal(await here.page.locator(".monaco-editor .squiggly-warning").count(), 0);
    for (const window of [here, there]) {
        await window.page.getByRole("button", { name: "Facts Section" }).click();
    }
    const fact = (window, name) => window.page.getByRole("tree", { name: "Facts" }).getByRole("treeitem", { name });
    await fact(there, `To check: ${FACT}`).waitFor({ timeout: 60_000 });
    await fact(here, FACT).waitFor();
    await here.shot("machines-24-fact-fresh");
    await there.shot("machines-25-fact-stale");
    neovim.command("Palimpsest facts");
    await neovim.shows(FACT);
    await neovim.shot(browser, "machines-26-neovim-stale");
});
