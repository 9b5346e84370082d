/** Markdown in the panel: of a message that is complete, and of one that is still growing. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { GrowingBlocks } from "./blocks";
import { dressCode } from "./code_block";
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
        dressCode(code, isGrowing);
    }
    return element;
}

/** Lists of tasks are shown with their state, numbers of lists have the room that they need, and tables scroll by themselves. */
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
    for (const list of element.querySelectorAll("ol")) {
        const digits = String(list.start + list.childElementCount - 1).length;
        if (digits > 3) {
            list.style.paddingInlineStart = `${digits + 1.5}ch`;
        }
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
