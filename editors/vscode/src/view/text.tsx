/** Markdown in the panel: of a message that is complete, and of one that is still growing. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { CODE, REVIEW_CODE, RUN_CODE } from "../texts";
import { GrowingBlocks } from "./blocks";
import { renderMarkdown } from "./markdown";
import { boundLines, visible } from "./visible";

/** More of a message than this is shown on demand. */
export const SHOWN = 100_000;
/** Blocks of a running answer that stay in the page; all of it is there when it has ended. */
const LIVE_BLOCKS = 300;

/** A complete text. */
export function Markdown({ text }: { readonly text: string }) {
    const [limit, setLimit] = useState(SHOWN);
    const element = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const blocks = new GrowingBlocks();
        blocks.append(text.slice(0, limit));
        element.current?.replaceChildren(...[...blocks.done, blocks.last].map((block) => toElement(block.text)));
    }, [text, limit]);
    return (
        <>
            <div class="say markdown" ref={element} dir="auto" />
            {text.length > limit && (
                <button type="button" class="text-btn" onClick={() => setLimit(limit + SHOWN * 2)}>
                    Show more ({(text.length - limit).toLocaleString("en")} characters)
                </button>
            )}
        </>
    );
}

/** A text that only grows: blocks that are final are made once. */
export function GrowingMarkdown({ text }: { readonly text: string }) {
    const element = useRef<HTMLDivElement>(null);
    const shown = useRef({ blocks: new GrowingBlocks(), length: 0, done: 0 });
    useLayoutEffect(() => {
        const root = element.current;
        if (root === null) {
            return;
        }
        const now = shown.current;
        now.blocks.append(text.slice(now.length));
        now.length = text.length;
        // Of many that come at once most would be removed again.
        const fresh = now.blocks.done.slice(now.done).slice(-LIVE_BLOCKS).map((block) => toElement(block.text));
        now.done = now.blocks.done.length;
        const tail = root.lastElementChild;
        const { text: last, isOpenFence } = now.blocks.last;
        if (fresh.length === 0 && isOpenFence && tail?.classList.contains("open-fence") === true) {
            // The text of code that goes on is set as text: neither parsed nor coloured before its end.
            const code = tail.querySelector("code");
            if (code !== null) {
                code.textContent = boundLines(visible(last.slice(last.indexOf("\n") + 1)), 5_000);
            }
            return;
        }
        tail?.remove();
        const open = toElement(last, isOpenFence);
        open.classList.toggle("open-fence", isOpenFence);
        root.append(...fresh, open);
        while (root.childElementCount > LIVE_BLOCKS) {
            root.firstElementChild?.remove();
        }
    }, [text]);
    return <div class="say markdown growing" ref={element} dir="auto" />;
}

function toElement(text: string, isGrowing = false): HTMLElement {
    const element = document.createElement("div");
    element.className = "block";
    element.append(renderMarkdown(text));
    dress(element);
    for (const code of element.querySelectorAll<HTMLElement>(".code")) {
        if (!code.classList.contains("bounded")) {
            code.prepend(codeBar(code.dataset["language"] ?? ""));
        }
        if (!isGrowing) {
            foldLong(code);
        }
    }
    return element;
}

/** Longer code is folded. */
const MOST_LINES = 24;

/** Long code shows its beginning; the button under it shows the rest, see `actions.ts`. */
function foldLong(code: HTMLElement): void {
    const n = (code.querySelector("code")?.textContent ?? "").trimEnd().split("\n").length;
    if (n <= MOST_LINES) {
        return;
    }
    code.classList.add("is-long");
    const more = document.createElement("button");
    more.type = "button";
    more.className = "more";
    more.dataset["code"] = "unfold";
    more.setAttribute("aria-expanded", "false");
    more.textContent = CODE.showAll(n);
    more.dataset["lines"] = String(n);
    code.append(more);
}

const SHELL = new Set(["bash", "sh", "shell", "zsh", "console", "powershell", "ps1", "fish"]);
/** Code that no file is changed by. */
const UNPLACED = new Set([...SHELL, "diff", "patch"]);

/** The buttons of a block of code. One listener of the panel serves all of them, see `actions.ts`. */
function codeBar(language: string): HTMLElement {
    const bar = document.createElement("header");
    const name = document.createElement("span");
    name.className = "ellipsis";
    name.textContent = language;
    const spring = document.createElement("span");
    spring.className = "spring";
    const buttons = document.createElement("span");
    buttons.className = "acts";
    for (const [action, label, icon] of [["copy", "Copy", "copy"], ["insert", "Insert", "insert"], ["apply", REVIEW_CODE, "git-compare"], ["run", RUN_CODE, "terminal"]] as const) {
        if ((action === "apply" && UNPLACED.has(language)) || (action === "run" && !SHELL.has(language))) {
            continue;
        }
        const button = document.createElement("button");
        button.type = "button";
        button.className = "icon";
        button.dataset["code"] = action;
        button.title = action === "run" || action === "apply" ? label : `${label} this code`;
        button.setAttribute("aria-label", button.title);
        const glyph = document.createElement("i");
        glyph.className = `codicon codicon-${icon}`;
        glyph.setAttribute("aria-hidden", "true");
        button.append(glyph);
        buttons.append(button);
    }
    bar.append(name, spring, buttons);
    return bar;
}

/** Lists of tasks are shown with their state, and tables scroll by themselves. */
function dress(element: HTMLElement): void {
    for (const item of element.querySelectorAll("li")) {
        const first = item.firstChild instanceof HTMLParagraphElement ? item.firstChild.firstChild : item.firstChild;
        const task = first instanceof Text ? /^\[([ xX])\]\s+/.exec(first.data) : null;
        if (task === null || !(first instanceof Text)) {
            continue;
        }
        const isDone = task[1] !== " ";
        first.data = first.data.slice(task[0].length);
        const glyph = document.createElement("i");
        glyph.className = `codicon codicon-${isDone ? "pass-filled" : "circle-large-outline"}`;
        glyph.setAttribute("role", "img");
        glyph.setAttribute("aria-label", isDone ? "Done:" : "Open:");
        first.before(glyph);
        item.classList.add("task");
        item.classList.toggle("done", isDone);
    }
    for (const table of element.querySelectorAll("table")) {
        const around = document.createElement("div");
        around.className = "scroll-x";
        around.tabIndex = 0;
        around.setAttribute("role", "region");
        around.setAttribute("aria-label", "Table");
        table.replaceWith(around);
        around.append(table);
    }
}
