// @vitest-environment happy-dom
/** Whatever a model writes: nothing runs, nothing is fetched, everything is seen for what it is, and it stays fast. */
import { expect, test } from "vitest";

import { GrowingBlocks } from "../src/view/blocks";
import { followable } from "../src/view/links";
import { dressCode } from "../src/view/code_block";
import { renderMarkdown } from "../src/view/markdown";
import { boundLines, visible } from "../src/view/visible";

function rendered(text: string): HTMLElement {
    const element = document.createElement("div");
    element.append(renderMarkdown(text));
    return element;
}

const HOSTILE = [
    '<script>window.ran = true</script>',
    '<img src=x onerror="window.ran = true">',
    '<iframe src="https://example.com"></iframe>',
    '<svg><script>window.ran = true</script></svg>',
    "![beacon](https://example.com/pixel.png?secret=1)",
    "[run](command:workbench.action.terminal.new)",
    "[run](javascript:alert%281%29)",
    "[run](JaVaScRiPt:alert(1))",
    "[run](data:text/html;base64,PHNjcmlwdD4=)",
    "[run](vscode://extension/install)",
    '[a](https://example.com "onmouseover=alert(1)")',
    "<javascript:alert(1)>",
    '```"><script>x</script>\ncode\n```',
    "[x]: javascript:alert(1)\n\n[x]",
    "| a |\n|---|\n| <style>*{display:none}</style> |",
];

test.each(HOSTILE)("%s brings in nothing that runs or fetches", (text) => {
    const element = rendered(text);
    expect(element.querySelectorAll("script, img, iframe, svg, style, object, embed, form, input, video, audio, base, meta, link").length).toBe(0);
    for (const each of element.querySelectorAll("*")) {
        for (const name of each.getAttributeNames()) {
            expect(["class", "role", "tabindex", "title", "start", "data-href", "data-language", "data-image"]).toContain(name);
        }
        expect(each.getAttribute("data-href") ?? "https:").toMatch(/^(https?|file):/);
    }
});

test("HTML stands there as the text it is", () => {
    expect(rendered("<b>hi</b>").textContent).toContain("<b>hi</b>");
});

test("an image is named with its address", () => {
    expect(rendered("![cat](https://example.com/cat.png)").textContent).toContain("[image: cat https://example.com/cat.png]");
});

test("a link carries no address that a browser follows by itself", () => {
    const link = rendered("[docs](https://example.com/a)").querySelector("a");
    expect(link?.hasAttribute("href")).toBe(false);
    expect(link?.dataset["href"]).toBe("https://example.com/a");
    expect(link?.getAttribute("role")).toBe("link");
});

test("only pages and files can be followed", () => {
    expect(followable("https://example.com/x")).toBe("https://example.com/x");
    expect(followable("file:///a/b.py")).toBe("file:///a/b.py");
    const refused = ["command:x", "javascript:1", "java\nscript:1", " javascript:1", "vscode:x", "data:,x", "//host/x", "a.md", "https://user:pw@host/", "https:\\\\host"];
    expect(refused.map(followable)).toEqual(refused.map(() => undefined));
});

test("characters that turn or hide text are shown by their number", () => {
    expect(visible("a\u202eb\u200bc\u2066d\ufeff\u{e0041}\u001b[31m")).toBe("a⟨U+202E⟩b⟨U+200B⟩c⟨U+2066⟩d⟨U+FEFF⟩⟨U+E0041⟩⟨U+001B⟩[31m");
    expect(rendered("`if \u202e x`").textContent).toContain("⟨U+202E⟩");
    expect(rendered("```js\nx\u2067y\n```").textContent).toContain("⟨U+2067⟩");
});

test("joiners of emoji and of scripts that need them stay", () => {
    expect(visible("👩\u200d💻 می\u200cخواهم ❤\ufe0f")).toBe("👩\u200d💻 می\u200cخواهم ❤\ufe0f");
    expect(visible("pass\u200dword")).toBe("pass⟨U+200D⟩word");
});

test("a huge line is bounded, and no markup is looked for in it", () => {
    const element = rendered("**".repeat(500_000));
    expect(element.textContent.length).toBeLessThan(6_000);
    expect(element.textContent).toContain("more characters");
    expect(boundLines("ab\nabcd", 2)).toBe("ab\nab … (2 more characters)");
});

test.each([
    ["python", "python", ""], ["python src/prices.py", "python", "src/prices.py"], ["ts:src/a.ts", "ts", "src/a.ts"], ["src/prices.py", "py", "src/prices.py"],
    ["12:20:src/prices.py", "py", "src/prices.py"], ["prices.py", "py", "prices.py"], ["C++", "c++", ""], ["ts {1,3}", "ts", ""], ["", "", ""],
])("code behind %j is of the language %j, and named by the file where one is named", (info, language, path) => {
    const code = rendered(`Like this:\n\n\`\`\`${info}\na = 1\n\`\`\``).querySelector<HTMLElement>(".code");
    expect(code?.dataset["language"]).toBe(language);
    dressCode(code as HTMLElement, false);
    expect(code?.querySelector("header > .ellipsis")?.textContent).toBe(path || language);
    expect(code?.querySelector<HTMLElement>("header a.ref")?.dataset["path"] ?? "").toBe(path);
});

test("code is coloured while it is small, and plain when it is large", () => {
    expect(rendered("```python\ndef f():\n    return 1\n```").querySelectorAll(".hljs-keyword").length).toBeGreaterThan(0);
    expect(rendered(`\`\`\`python\n${"x = 1\n".repeat(5_000)}\`\`\``).querySelectorAll(".hljs-number").length).toBe(0);
});

function blocksOf(pieces: Iterable<string>): GrowingBlocks {
    const blocks = new GrowingBlocks();
    for (const piece of pieces) {
        blocks.append(piece);
    }
    return blocks;
}

const TEXT = "# Title\n\nA paragraph\nof two lines.\n\n- one\n\n- two\n  more\n\n```py\nx = 1\n\n# y\n```\nAfter.\n\n> quote\n\n1. a\n2. b\n\nlast";

test("the blocks of a text are the same however it came", () => {
    const whole = blocksOf([TEXT]);
    for (const size of [1, 2, 3, 7]) {
        const pieces = Array.from({ length: Math.ceil(TEXT.length / size) }, (_, i) => TEXT.slice(i * size, (i + 1) * size));
        const grown = blocksOf(pieces);
        const texts = [...grown.done, grown.last].map((block) => block.text).join("");
        expect(texts).toBe(TEXT);
        const html = (blocks: GrowingBlocks) => [...blocks.done, blocks.last].map((block) => rendered(block.text).innerHTML).join("");
        expect(html(grown)).toBe(html(whole));
    }
});

test("an unclosed fence stays one open block, whatever stands in it", () => {
    const blocks = blocksOf(["before\n\n", "````js\n", "# not a title\n\n```\n", "- x\n"]);
    expect(blocks.last.isOpenFence).toBe(true);
    expect(rendered(blocks.last.text).querySelectorAll("pre").length).toBe(1);
    expect(rendered(blocks.last.text).querySelectorAll("h1, li").length).toBe(0);
});

test("text behind a closed fence is no code", () => {
    const blocks = blocksOf(["```\ncode\n```\n", "text\n\nmore\n"]);
    expect(blocks.done.map((block) => block.text)).toEqual(["```\ncode\n```\n", "text\n\n"]);
});

test("a very long text is cut into blocks that are each cheap to render", () => {
    for (const text of ["word ".repeat(200_000), "```\n" + "code line\n".repeat(100_000), "a **b** c\n\n".repeat(10_000), "- item\n".repeat(10_000), "x".repeat(1_000_000)]) {
        const pieces = Array.from({ length: Math.ceil(text.length / 10_000) }, (_, i) => text.slice(i * 10_000, (i + 1) * 10_000));
        const blocks = blocksOf(pieces);
        expect(Math.max(...[...blocks.done, blocks.last].map((block) => block.text.length))).toBeLessThan(41_000);
    }
});
