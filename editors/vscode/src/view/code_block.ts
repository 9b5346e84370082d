/** A block of code in a text: its buttons, and the folding of a long one. One listener serves all of them, see `actions.ts`. */
import { pathInInfo } from "../native/changes/named";
import { CODE, REVIEW_CODE, RUN_CODE, SAID } from "../texts";

/** Longer code is folded. */
const MOST_LINES = 24;

/** Adds what can be done with the code. `isGrowing`: its end has not come, and it is not folded. */
export function dressCode(code: HTMLElement, isGrowing: boolean): void {
    if (!code.classList.contains("bounded")) {
        code.prepend(codeBar(code.dataset["language"] ?? "", pathInInfo(code.dataset["info"] ?? "")));
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

/** The panel opens what has this class; see `actions.ts`. */
function linkTo(path: string): HTMLElement {
    const link = document.createElement("a");
    link.className = "ref";
    link.setAttribute("role", "link");
    link.tabIndex = 0;
    link.dataset["path"] = path;
    link.title = SAID.open(path);
    link.textContent = path;
    return link;
}

/** Named by the file that it is about, else by its language. */
function codeBar(language: string, path: string | undefined): HTMLElement {
    const bar = document.createElement("header");
    if (path === undefined && language === "") {
        bar.className = "bare"; // an empty line above the code says nothing
    }
    const name = document.createElement("span");
    name.className = "ellipsis";
    name.append(path === undefined ? language : linkTo(path));
    const spring = document.createElement("span");
    spring.className = "spring";
    const buttons = document.createElement("span");
    buttons.className = "acts";
    for (const [action, label, icon] of [["copy", CODE.copy, "copy"], ["insert", CODE.insert, "insert"], ["apply", REVIEW_CODE, "git-compare"], ["run", RUN_CODE, "terminal"]] as const) {
        if ((action === "apply" && UNPLACED.has(language)) || (action === "run" && !SHELL.has(language))) {
            continue;
        }
        const button = document.createElement("button");
        button.type = "button";
        button.className = "icon";
        button.dataset["code"] = action;
        button.title = label;
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
