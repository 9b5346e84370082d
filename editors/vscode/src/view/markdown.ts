/**
 * Markdown of a model as elements. The only place where text becomes markup: no HTML of the text counts, images are
 * named and not fetched, links carry no address a browser could follow by itself, and what is left goes through a
 * sanitizer with a list of what may stay.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

import { pathInInfo } from "../native/changes/named";
import { SAID } from "../texts";
import { highlight } from "./highlight";
import { followable } from "./links";
import { boundLines, visible } from "./visible";

const LONGEST_LINE = 5_000;
/** A block with a longer line has no other markup looked for in it. */
const PLAIN_LINE = 10_000;
/** Longer code may come in several pieces, none of which is what to put into a file. */
const MOST_TAKEN = 25_000;
/** What stands behind a fence may name a file. */
const MOST_INFO = 1_000;

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

const codeInline = rules["code_inline"];
rules["code_inline"] = (tokens, index, options, env, self) => refOf(tokens[index]?.content ?? "") ?? codeInline?.(tokens, index, options, env, self) ?? "";
rules["text"] = (tokens, index) => withRefs(tokens, index);

/** `src/prices.py:11` or `src/prices.py`: a path with a folder, or with a line. */
const REFERENCE = /(?<![\w./:@-])((?:[\w.-]+\/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7})(?::(\d{1,6})(?:[-–:]\d{1,6})?)?(?![\w/:@-])/g;

function link(whole: string, path: string, line: string | undefined): string | undefined {
    return (line === undefined && !path.includes("/")) || path.includes("..") ? undefined : `<a class="ref" role="link" tabindex="0" data-path="${escape(path)}"${line === undefined ? "" : ` data-line="${line}"`} title="${escape(SAID.open(whole))}">${escape(whole)}</a>`;
}

function refOf(text: string): string | undefined {
    const match = [...text.matchAll(REFERENCE)][0];
    return match?.[0] === text ? link(text, match[1] ?? "", match[2]) : undefined;
}

function withRefs(tokens: ReturnType<typeof markdown.parse>, index: number): string {
    const text = tokens[index]?.content ?? "";
    const isInLink = tokens.slice(0, index).reduce((depth, token) => depth + (token.type === "link_open" ? 1 : token.type === "link_close" ? -1 : 0), 0) > 0;
    if (isInLink) {
        return escape(text);
    }
    return withPaths(text);
}

function withPaths(text: string): string {
    let html = "";
    let end = 0;
    for (const match of text.matchAll(REFERENCE)) {
        const reference = link(match[0], match[1] ?? "", match[2]);
        if (reference !== undefined) {
            html += escape(text.slice(end, match.index)) + reference;
            end = match.index + match[0].length;
        }
    }
    return html + escape(text.slice(end));
}

// The policy of the panel lets no style in, so columns of numbers have a class.
for (const [rule, tag] of [["th_open", "th"], ["td_open", "td"]] as const) {
    rules[rule] = (tokens, index) => (String(tokens[index]?.attrGet("style") ?? "").includes("right") ? `<${tag} class="n">` : `<${tag}>`);
}

rules["fence"] = (tokens, index) => renderCode(tokens[index]?.content ?? "", tokens[index]?.info ?? "");
rules["code_block"] = (tokens, index) => renderCode(tokens[index]?.content ?? "", "");

/** `python`, also where the info string goes on with a path; of a path alone what its ending says. */
function languageOf(info: string): string {
    const said = /^[A-Za-z][\w+#-]*(?![\w+#./\\-])/.exec(info.trim())?.[0] ?? /[^./\\]+$/.exec(pathInInfo(info) ?? "")?.[0];
    return said?.toLowerCase() ?? "";
}

function renderCode(code: string, info: string): string {
    const language = languageOf(info);
    const shown = boundLines(code, LONGEST_LINE);
    const inner = (shown === code ? highlight(code, language) : undefined) ?? escape(shown);
    // The buttons are added by the panel, which finds the code by this class. Of code that is not there whole nothing is taken.
    const isWhole = shown === code && code.length < MOST_TAKEN;
    return `<div class="code${isWhole ? "" : " bounded"}" data-language="${escape(language)}" data-info="${escape(info.slice(0, MOST_INFO))}"><pre tabindex="0"><code>${inner}</code></pre></div>`;
}

const ALLOWED = {
    ALLOWED_TAGS: [
        ...["p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div"],
        ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"],
    ],
    ALLOWED_ATTR: ["class", "role", "tabindex", "title", "start", "data-href", "data-path", "data-line", "data-language", "data-info", "data-image"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // `followable` has looked at the address, and no browser follows this attribute.
    ADD_URI_SAFE_ATTR: ["data-href", "data-path", "data-line"],
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
