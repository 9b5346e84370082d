/** Pictures come by the clipboard, from outside of VS Code, from the explorer and by their path; the service receives them, and the message shows them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

import { E2E_PYTHON, startLab, startModel, until } from "./harness/lab.mjs";
import { startBrowser, Window } from "./harness/window.mjs";

const RED = [220, 30, 30];
const BLUE = [20, 40, 200];
const GREEN = [20, 160, 60];
const SHIFT = 8;
const MANY = 21 * 1024 * 1024;
let lab, model, browser, window, cdp, outside;

/** Draws pictures of one color: `[file, width, height, color]`. */
function draw(pictures) {
    const program = "import json, sys\nfrom PIL import Image\nfor file, width, height, color in json.loads(sys.argv[1]):\n    Image.new('RGB', (width, height), tuple(color)).save(file)";
    execFileSync(E2E_PYTHON, ["-I", "-c", program, JSON.stringify(pictures)]);
}

before(async () => {
    model = await startModel([], 200);
    lab = await startLab("pictures", {
        files: { "README.md": "# Shop\n" },
        env: model.env,
        before: ({ root, folder, home }) => {
            outside = path.join(root, "outside");
            mkdirSync(outside);
            mkdirSync(path.join(home, "config/palimpsest"), { recursive: true });
            writeFileSync(path.join(home, "config/palimpsest/config.toml"), '[models."gpt-4.1"]\nimages = false\n');
            draw([[path.join(outside, "blue.png"), 64, 48, BLUE], [path.join(outside, "green.jpg"), 80, 60, GREEN], [path.join(folder, "shelf.png"), 120, 90, GREEN]]);
            writeFileSync(path.join(outside, "notes.txt"), "no picture\n");
            writeFileSync(path.join(outside, "huge.png"), Buffer.alloc(MANY, 1));
            writeFileSync(path.join(outside, "broken.png"), "no picture either");
        },
    });
    browser = await startBrowser();
    window = await Window.open(browser, lab);
    await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    cdp = await window.page.context().newCDPSession(window.page);
    await window.openPanel();
    window.page.setDefaultTimeout(20_000);
});

after(async () => {
    await browser?.close();
    await lab?.stop();
    model?.stop();
});

afterEach((context) => window.shotOfFailure(context));

const chips = () => window.panel.locator(".composer .chips .chip:not(.suggest)");
const noChips = () => chips().first().waitFor({ state: "detached" });
const notice = () => window.panel.getByTestId("notice");
const pictures = (id) => window.panel.getByTestId(`message-${id}`).getByTestId("picture").locator("img");

/** Puts a picture of that color into the clipboard, with what other formats some programs put there. */
function copyPicture(color, texts = {}) {
    return window.page.evaluate(async ([[r, g, b], others]) => {
        const canvas = new OffscreenCanvas(60, 40);
        const context = canvas.getContext("2d");
        context.fillStyle = `rgb(${r} ${g} ${b})`;
        context.fillRect(0, 0, 60, 40);
        const text = Object.entries(others).map(([type, each]) => [type, new Blob([each], { type })]);
        await navigator.clipboard.write([new ClipboardItem({ "image/png": await canvas.convertToBlob(), ...Object.fromEntries(text) })]);
    }, [color, texts]);
}

async function paste() {
    await window.composer.click();
    await window.page.keyboard.press("Control+V");
}

/** Files from a file manager, over the panel and dropped there. */
async function hover(...names) {
    const box = await window.panel.getByTestId("messages").boundingBox();
    const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    const data = { items: [], files: names.map((each) => path.join(outside, each)), dragOperationsMask: 1 };
    const send = (type) => cdp.send("Input.dispatchDragEvent", { type, ...at, data, modifiers: SHIFT });
    await send("dragEnter");
    await send("dragOver");
    return () => send("drop");
}

async function dropFiles(...names) {
    await (await hover(...names))();
}

/** The size in pixels that the browser decoded. */
const drawn = (image) => until("the picture is drawn", () => image.evaluate((each) => each.naturalWidth > 0 && [each.naturalWidth, each.naturalHeight]));

test("a picture of the clipboard becomes a chip, and the service receives it", async () => {
    await copyPicture(RED);
    await paste();
    await window.panel.getByRole("button", { name: "Remove image.png" }).waitFor();
    assert.equal(await chips().locator("img.thumb").count(), 1);
    await until("its tokens are known", async () => (await chips().locator(".size").innerText()) !== "0");
    await window.shot("pictures-chip");
    await window.send("What is it?");
    await window.answered(1);
    assert.deepEqual(await model.pictures(), [{ format: "PNG", width: 60, height: 40, middle: RED }]);
    await noChips();
    assert.deepEqual(await drawn(pictures(0)), [60, 40]);
    await window.shot("pictures-message");
});

test("Enter right after pasting sends the picture with the message", async () => {
    await copyPicture(BLUE);
    await window.composer.fill("And this?");
    await paste();
    await window.page.keyboard.press("Enter");
    await window.answered(3);
    const [, newest] = await model.pictures();
    assert.deepEqual(newest?.middle, BLUE);
});

test("a picture alone is a message", async () => {
    await copyPicture(GREEN);
    await paste();
    await window.page.keyboard.press("Enter");
    await window.answered(5);
    assert.equal((await model.pictures()).length, 3);
});

test("a text with its looks is pasted as a text, though a picture of it comes along", async () => {
    await copyPicture(RED, { "text/plain": "total 12", "text/html": "<b>total</b> 12" });
    await paste();
    await until("the text is there", async () => (await window.composer.inputValue()) === "total 12");
    assert.equal(await chips().count(), 0);
    await window.composer.fill("");
});

test("files that hover are announced; dropped anywhere in the panel, two pictures are two chips", async () => {
    const drop = await hover("blue.png", "green.jpg");
    await window.panel.getByText("Drop to add").waitFor();
    await window.shot("pictures-drop");
    await drop();
    await until("both are there", async () => (await chips().locator("img.thumb").count()) === 2);
    await window.panel.getByText("Drop to add").waitFor({ state: "detached" });
    await window.panel.getByRole("button", { name: "Remove blue.png" }).click();
    await until("one is left", async () => (await chips().count()) === 1);
    await window.send("Which color?");
    await window.answered(7);
    const newest = (await model.pictures()).at(-1);
    assert.deepEqual([newest.format, newest.width, newest.height], ["JPEG", 80, 60]);
});

test("what is no picture, or too large, is named, and the others come along", async () => {
    await dropFiles("notes.txt");
    await notice().filter({ hasText: /“notes.txt” is no picture.*explorer with Shift held/ }).waitFor();
    await dropFiles("huge.png", "notes.txt", "blue.png");
    await notice().filter({ hasText: /“huge.png” is larger than 20 MB.*“notes.txt” is no picture/ }).waitFor();
    await window.panel.getByRole("button", { name: "Remove blue.png" }).waitFor();
    await window.shot("pictures-refused");
    await window.panel.getByRole("button", { name: "Remove blue.png" }).click();
    await noChips();
});

test("a file that only calls itself a picture is a chip with the reason, and nothing is sent with it", async () => {
    await dropFiles("broken.png");
    await chips().filter({ hasText: "is no PNG, JPEG, WebP or GIF picture" }).waitFor();
    await window.shot("pictures-broken");
    const asked = await model.asked();
    await window.send("Look.");
    await window.panel.getByTestId("failure").filter({ hasText: "Nothing was sent" }).waitFor();
    await until("the message is back", async () => (await window.composer.inputValue()) === "Look.");
    assert.equal(await model.asked(), asked);
    await window.panel.getByRole("button", { name: "Remove broken.png" }).click();
    await noChips();
    await window.composer.fill("");
});

test("a picture is mentioned by its path", async () => {
    await window.composer.fill("");
    await window.composer.pressSequentially("Look at @shel");
    await window.panel.getByRole("option", { name: /shelf\.png/ }).waitFor();
    await window.page.keyboard.press("Enter");
    await window.panel.getByRole("button", { name: "Remove shelf.png" }).waitFor();
    await window.page.keyboard.press("Enter");
    await window.answered(9);
    const all = await model.pictures();
    assert.deepEqual(all.filter((each) => each.width === 120), [{ format: "PNG", width: 120, height: 90, middle: GREEN }]);
    await window.send("Once more: @shelf.png?");
    await window.answered(11);
    assert.equal((await model.pictures()).filter((each) => each.width === 120).length, 2);
});

test("a model that sees no pictures refuses with a sentence, and nothing is lost", async () => {
    await window.panel.getByTestId("new-conversation").click();
    await window.panel.getByTestId("message-1").waitFor({ state: "detached" });
    await window.send("/model gpt-4.1");
    await window.panel.getByTestId("reply").waitFor();
    await copyPicture(RED);
    await paste();
    await chips().first().waitFor();
    const asked = await model.asked();
    await window.send("What is it?");
    await window.panel.getByTestId("failure").filter({ hasText: /gpt-4\.1 sees no pictures, so nothing was sent/ }).waitFor();
    await until("the message is back", async () => (await window.composer.inputValue()) === "What is it?");
    assert.equal(await chips().count(), 1);
    assert.equal(await model.asked(), asked);
    await window.shot("pictures-unseen");
});

test("after the window is loaded again the pictures are still in their messages", async () => {
    await window.page.reload();
    await window.panelReady();
    await window.panel.getByTestId("list").click();
    await window.panel.getByTestId("conversations").locator(".conv").last().click();
    await window.panel.getByTestId("message-11").waitFor();
    assert.deepEqual(await drawn(pictures(10)), [120, 90]);
    await window.shot("pictures-again");
});

test("what the explorer hands over, the address in a remote window, is attached", async () => {
    const box = await window.panel.getByTestId("messages").boundingBox();
    const uri = `vscode-remote://127.0.0.1:${lab.port}${path.join(lab.folder, "shelf.png")}`;
    const data = { items: [{ mimeType: "text/uri-list", data: uri }, { mimeType: "application/vnd.code.uri-list", data: uri }], dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) {
        await cdp.send("Input.dispatchDragEvent", { type, x: box.x + box.width / 2, y: box.y + box.height / 2, data, modifiers: SHIFT });
    }
    await window.panel.getByRole("button", { name: "Remove shelf.png" }).waitFor();
    await until("its tokens are known", async () => (await chips().locator(".size").innerText()) !== "0");
});
