/** A block of code in a text: its buttons, and the folding of a long one. One listener serves all of them, see `actions.ts`. */
import { CODE, REVIEW_CODE, RUN_CODE } from "../texts";

/** Longer code is folded. */
const MOST_LINES = 24;

/** Adds what can be done with the code. `isGrowing`: its end has not come, and it is not folded. */
export function dressCode(code: HTMLElement, isGrowing: boolean): void {
    if (!code.classList.contains("bounded")) {
        code.prepend(codeBar(code.dataset["language"] ?? ""));
    }
    if (!isGrowing) {
        foldLong(code);
    }
}

/** Long code shows its beginning; the button under it shows the rest. */
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
