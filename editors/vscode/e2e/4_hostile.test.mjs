/** Whatever a model writes is text: nothing of it runs, nothing is fetched, and the panel stays usable. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { startLab, startModel } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const BEACON = "http://127.0.0.1:9/beacon";
const MARKUP = `<script>globalThis.__ran = "script"</script>
<img src="${BEACON}/img" onerror="globalThis.__ran = 'onerror'"> <svg onload="globalThis.__ran='svg'"></svg>
<iframe src="${BEACON}/frame"></iframe> <style>@import "${BEACON}/style"; body { display: none }</style> <link rel="stylesheet" href="${BEACON}/link">
<form action="${BEACON}/form"><input autofocus onfocus="globalThis.__ran='focus'"></form> <base href="${BEACON}/"> <meta http-equiv="refresh" content="0;url=${BEACON}/meta">

![beacon](${BEACON}/image) ![data](data:image/svg+xml,<svg/onload=alert(1)>) [![nested](${BEACON}/nested)](${BEACON}/page)

[script](javascript:globalThis.__ran='href') [command](command:workbench.action.terminal.new) [data](data:text/html,<script>1</script>) [vbs](vbscript:x)
[odd](JaVaScRiPt&colon;alert(1)) [file](file:///etc/passwd) [page](${BEACON}/page "title") <${BEACON}/auto> [ref]

[ref]: javascript:globalThis.__ran='ref'
`;
const UNSEEN = "before \u202Etxt.exe\u202C after \u200Bzero\u200Dwidth\uFEFF \u2066isolate\u2069 \u{E0041}tag";
const FENCE = "Look:\n\n```js\nconst a = '</code></pre><script>globalThis.__ran = 1</script>';\n`````html\n<img src=x onerror=alert(1)>\nnever closed";
const MEGABYTE = `${"# Heading *with* `code` and [link](https://example.org/) | a | b |\n\n- item **bold**\n  > quote\n\n".repeat(11_500)}THE END`;
const LINE = `[${"a".repeat(400)}](x)*_`.repeat(2_500);
const TITLES = ["markup", "unseen", "fence", "megabyte", "line"];
let lab, model, browser, window, frame;

before(async () => {
    model = await startModel([MARKUP, UNSEEN, FENCE, MEGABYTE, LINE].map((text) => ({ text })), 200);
    lab = await startLab("hostile", { env: model.env, files: { "README.md": "# Shop\n" } });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.openPanel();
    frame = await window.frame();
    await frame.evaluate(() => {
        globalThis.__violations = [];
        document.addEventListener("securitypolicyviolation", (event) => globalThis.__violations.push(event.violatedDirective));
    });
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

async function say(number) {
    await window.send(TITLES[number]);
    return window.answered(2 * number + 1);
}

/** Nothing ran, nothing was fetched, and a key press is painted soon. */
async function assertHarmless() {
    assert.equal(await frame.evaluate(() => globalThis.__ran), undefined);
    assert.deepEqual(window.requests.filter((each) => !each.startsWith(`http://127.0.0.1:${lab.port}/`) && !/^(data|blob|vscode-|https:\/\/[\w.-]*vscode-resource)/.test(each)).filter((each) => each.includes("beacon") && !each.endsWith("/probe")), []);
    assert.deepEqual(await frame.evaluate(() => globalThis.__violations), [], "nothing had to be stopped by the policy");
    assert.equal(await frame.evaluate(() => document.querySelectorAll("#root :is(script, img, iframe, style, link, form[action], base, meta, object, embed, .messages svg, [onclick], [onerror], [onload], [href], [src], [style*=url])").length), 0);
    const start = performance.now();
    await window.composer.press("x");
    await frame.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    const tookMs = performance.now() - start;
    await window.composer.press("Backspace");
    assert.ok(tookMs < 2_000, `a key press took ${tookMs} ms`);
    return tookMs;
}

test("the policy of the panel allows one script and the pictures it was given, and loads nothing else", async () => {
    const policy = await frame.evaluate(() => document.querySelector("meta[http-equiv=Content-Security-Policy]").content);
    assert.match(policy, /^default-src 'none'; script-src 'nonce-[\w+/=]+'; style-src [^;]*; font-src [^;]*; img-src data:; base-uri 'none'; form-action 'none'$/);
    assert.doesNotMatch(policy, /unsafe|connect-src|\*(?!\.)/);
    const refused = await frame.evaluate(async (beacon) => {
        const outcomes = [];
        await fetch(beacon).catch(() => outcomes.push("fetch"));
        await new Promise((resolve) => { const image = new Image(); image.onerror = resolve; image.src = `${beacon}/probe`; }).then(() => outcomes.push("image"));
        try { new Function("return 1")(); } catch { outcomes.push("eval"); }
        // Violations are told after what they stopped.
        await new Promise((resolve) => { setTimeout(resolve, 500); });
        const n = globalThis.__violations.length;
        globalThis.__violations = [];
        return { outcomes, n };
    }, BEACON);
    assert.deepEqual(refused.outcomes, ["fetch", "image", "eval"]);
    assert.ok(refused.n >= 3);
});

test("HTML, scripts, images and links that would do something stay text", async () => {
    const answer = await say(0);
    await assertHarmless();
    assert.match(await answer.textContent(), /<script>globalThis/);
    assert.match(await answer.textContent(), /\[image: beacon/);
    const links = await answer.locator("a").evaluateAll((all) => all.map((each) => each.dataset.href));
    assert.ok(links.length > 0 && links.every((each) => /^(https?|file):/.test(each)), links.join());
    for (const link of await answer.locator("a, .dead-link").all()) {
        await link.click({ button: "middle" });
    }
    await answer.getByText("command", { exact: true }).click();
    await answer.getByRole("link", { name: "page" }).first().click();
    await window.page.getByText(`Open ${BEACON}/page in your browser?`).waitFor();
    await window.shot("hostile");
    await window.page.keyboard.press("Escape");
    assert.equal(window.page.context().pages().length, 1);
    assert.equal(await window.page.locator(".terminal-wrapper").count(), 0);
    await assertHarmless();
});

test("what cannot be seen is made visible", async () => {
    const answer = await say(1);
    const text = await answer.textContent();
    assert.match(text, /⟨U\+202E⟩txt\.exe⟨U\+202C⟩/);
    assert.match(text, /⟨U\+200B⟩zero⟨U\+200D⟩width⟨U\+FEFF⟩ ⟨U\+2066⟩isolate⟨U\+2069⟩ ⟨U\+E0041⟩tag/);
    await assertHarmless();
});

test("a fence that is never closed holds what is in it", async () => {
    const answer = await say(2);
    assert.equal(await answer.locator("pre code").count(), 1);
    assert.match(await answer.locator("pre code").textContent(), /never closed/);
    await assertHarmless();
});

for (const [number, what] of [[3, "a megabyte of Markdown"], [4, "one line of a million characters"]]) {
    test(`${what} leaves the panel responsive`, async () => {
        await say(number);
        console.log(`key press to paint after ${what}: ${Math.round(await assertHarmless())} ms`);
    });
}
