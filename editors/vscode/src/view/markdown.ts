/**
 * Markdown of a model as elements. The only place where text becomes markup: no HTML of the text counts, images are
 * named and not fetched, links carry no address a browser could follow by itself, and what is left goes through a
 * sanitizer with a list of what may stay.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

import { highlight } from "./highlight";
import { followable } from "./links";
import { boundLines, visible } from "./visible";

const LONGEST_LINE = 5_000;
/** A block with a longer line has no other markup looked for in it. */
const PLAIN_LINE = 10_000;
/** Longer code may come in several pieces, none of which is what to put into a file. */
const MOST_TAKEN = 25_000;

const markdown = new MarkdownIt("default", { html: false, linkify: false, breaks: false, maxNesting: 30 });
markdown.validateLink = () => true;
const escape = markdown.utils.escapeHtml;
const rules = markdown.renderer.rules;

rules["image"] = (tokens, index) => {
    const token = tokens[index];
    return `<span class="image" data-image="">[image: ${escape(token?.content ?? "")} ${escape(String(token?.attrGet("src") ?? ""))}]</span>`;
};

rules["link_open"] = (tokens, index) => {
    const href = followable(String(tokens[index]?.attrGet("href") ?? ""));
    return href === undefined ? '<span class="dead-link">' : `<a class="link" role="link" tabindex="0" data-href="${escape(href)}" title="${escape(href)}">`;
};

rules["link_close"] = (tokens, index) => {
    let depth = 0;
    for (let i = index; i >= 0; i--) {
        const token = tokens[i];
        depth += token?.type === "link_close" ? 1 : token?.type === "link_open" ? -1 : 0;
        if (depth === 0) {
            return followable(String(token?.attrGet("href") ?? "")) === undefined ? "</span>" : "</a>";
        }
    }
    return "</span>";
};

rules["fence"] = (tokens, index) => renderCode(tokens[index]?.content ?? "", tokens[index]?.info ?? "");
rules["code_block"] = (tokens, index) => renderCode(tokens[index]?.content ?? "", "");

function renderCode(code: string, info: string): string {
    const language = /^[\w+#.-]*/.exec(info.trim())?.[0].toLowerCase() ?? "";
    const shown = boundLines(code, LONGEST_LINE);
    const inner = (shown === code ? highlight(code, language) : undefined) ?? escape(shown);
    // The buttons are added by the panel, which finds the code by this class. Of code that is not there whole nothing is taken.
    const isWhole = shown === code && code.length < MOST_TAKEN;
    return `<div class="code${isWhole ? "" : " bounded"}" data-language="${escape(language)}"><pre tabindex="0"><code>${inner}</code></pre></div>`;
}

const ALLOWED = {
    ALLOWED_TAGS: [
        ...["p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div"],
        ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
    ],
    ALLOWED_ATTR: ["class", "role", "tabindex", "title", "start", "data-href", "data-language", "data-image"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // `followable` has looked at the address, and no browser follows this attribute.
    ADD_URI_SAFE_ATTR: ["data-href"],
    RETURN_DOM_FRAGMENT: true,
} as const;

/** The elements of one block, or of a whole text. */
export function renderMarkdown(text: string): DocumentFragment {
    const seen = visible(text);
    const html = hasHugeLine(seen) ? `<pre class="plain" tabindex="0">${escape(boundLines(seen, LONGEST_LINE))}</pre>` : markdown.render(seen);
    return DOMPurify.sanitize(html, { ...ALLOWED, ALLOWED_TAGS: [...ALLOWED.ALLOWED_TAGS], ALLOWED_ATTR: [...ALLOWED.ALLOWED_ATTR], ADD_URI_SAFE_ATTR: [...ALLOWED.ADD_URI_SAFE_ATTR] });
}

function hasHugeLine(text: string): boolean {
    for (let start = 0; start < text.length; ) {
        const end = text.indexOf("\n", start);
        const line = (end === -1 ? text.length : end) - start;
        if (line > PLAIN_LINE) {
            return true;
        }
        start += line + 1;
    }
    return false;
}
