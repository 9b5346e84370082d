/** Clicks and keys on what came out of Markdown: links and the buttons of code. */
import type { FromView } from "../messages";
import { CODE } from "../texts";

/** Listens on the whole panel. Nothing that is clicked in a text reaches the editor's own handling of links. */
export function listen(root: HTMLElement, post: (message: FromView) => void): void {
    root.addEventListener("click", (event) => {
        act(event, post);
    });
    root.addEventListener("auxclick", (event) => {
        if (event.target instanceof Element && event.target.closest("a") !== null) {
            event.preventDefault();
            event.stopPropagation();
        }
    });
    root.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && event.target instanceof Element && event.target.matches("a.link, a.ref")) {
            act(event, post);
        }
    });
}

function act(event: Event, post: (message: FromView) => void): void {
    const target = event.target instanceof Element ? event.target : null;
    const link = target?.closest<HTMLElement>("a.link");
    if (link?.dataset["href"] !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        post({ type: "openLink", href: link.dataset["href"] });
        return;
    }
    const reference = target?.closest<HTMLElement>("a.ref");
    if (reference?.dataset["path"] !== undefined) {
        event.preventDefault();
        event.stopPropagation();
        const line = Number(reference.dataset["line"] ?? "");
        post({ type: "openPath", path: reference.dataset["path"], ...(line > 0 ? { line: line - 1 } : {}) });
        return;
    }
    const button = target?.closest<HTMLElement>("button[data-code]");
    if (button?.dataset["code"] === "unfold") {
        const isFolded = button.closest(".code")?.classList.toggle("is-long") === true;
        button.setAttribute("aria-expanded", String(!isFolded));
        button.textContent = isFolded ? CODE.showAll(Number(button.dataset["lines"])) : CODE.showLess;
        return;
    }
    const block = button?.closest<HTMLElement>(".code");
    const code = block?.querySelector("code")?.textContent;
    if (button !== undefined && button !== null && code !== undefined && code !== null) {
        const action = button.dataset["code"];
        post(action === "insert" ? { type: "insert", text: code } : action === "run" ? { type: "toTerminal", text: code } : action === "apply" ? { type: "apply", text: code, info: block?.dataset["info"] ?? "" } : { type: "copy", text: code });
    }
}
