/** Definitions in code of any language that indents them: where one begins, what it is called, and where it ends. */
import { indentOf, isBlank } from "./lines";

const NAME = String.raw`([A-Za-z_$#~][\w$]*(?:(?:::|\.)[~\w$]+)*[?!]?)`;
const BEFORE = String.raw`(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|async|pub(?:\([^)]*\))?|unsafe|virtual|override|inline|open|data|sealed|local|partial|const|extern)\s+)*`;
const KEYWORD = new RegExp(String.raw`^${BEFORE}(?:def|class|function\*?|func|fn|fun|interface|struct|enum|trait|impl(?:<[^>]*>)?|type|module|namespace|record|object|protocol|sub|procedure)\s+(?:\([^)]*\)\s*)?${NAME}`);
const VALUE = new RegExp(String.raw`^(?:export\s+)?(?:default\s+)?(?:const|let|var|local)\s+${NAME}\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)?\s*(?::[^=]+)?(?:=>|$)|[\w$]+\s*=>)`);
/** `public int total(double net) {`, and `total(net) {` of a class. */
const METHOD = new RegExp(String.raw`^(?!(?:if|for|while|switch|catch|with|return|new|await|else|do|try|case|throw|using|lock|synchronized|unless|until)\b)(?!.*=>\s*\{?$)[\w$<>,.\[\]*&:?@\s]*?[*]?${NAME}\s*(?:<[^>]*>)?\([^'"\x60;]*\)[\w$\s:<>,.\[\]|&?]*\{?$`);
const DECORATION = /^(?:@|#\[|#(?!include|define|if|endif|region)|\/\/|\/\*|\*|--|\[[A-Z])/;
const CLOSER = /^(?:[}\])]|end\b|fi\b|done\b|esac\b|<\/)/;

export interface Definition {
    readonly name: string;
    /** Its first line, without what decorates it. */
    readonly start: number;
    /** Behind its last line. */
    readonly end: number;
}

/** The name of what a line begins to define. */
export function nameOf(lines: readonly string[], at: number): string | undefined {
    const text = (lines[at] ?? "").trim();
    const known = KEYWORD.exec(text)?.[1] ?? VALUE.exec(text)?.[1];
    if (known !== undefined) {
        return known;
    }
    const method = METHOD.exec(text)?.[1];
    return method !== undefined && (text.endsWith("{") || (lines[at + 1] ?? "").trim() === "{") ? method : undefined;
}

export function isCloser(line: string): boolean {
    return CLOSER.test(line.trim());
}

/** Lines that stand within a text of several lines, such as a docstring: their indentation says nothing. */
function quotes(line: string): number {
    return (line.match(/"""|'''/g) ?? []).length;
}

/** Behind the last line of what begins at a line: by indentation, with the line that closes it. */
export function endOf(lines: readonly string[], start: number, limit = lines.length): number {
    const indent = indentOf(lines[start] ?? "");
    let isQuoted = quotes(lines[start] ?? "") % 2 === 1;
    let end = start + 1;
    for (let at = start + 1; at < limit; at++) {
        const line = lines[at] ?? "";
        const wasQuoted = isQuoted;
        isQuoted = quotes(line) % 2 === 1 ? !isQuoted : isQuoted;
        if (isBlank(line)) {
            continue;
        }
        if (wasQuoted || indentOf(line) > indent) {
            end = at + 1;
            continue;
        }
        const text = line.trim();
        // A brace on a line of its own, and the end of a list of parameters, go on with it.
        if (indentOf(line) === indent && (text === "{" || (isCloser(line) && /[{:([]$/.test(text)))) {
            end = at + 1;
            continue;
        }
        return indentOf(line) === indent && isCloser(line) && (end > start + 1 || /[{([]$/.test((lines[start] ?? "").trim())) ? at + 1 : end;
    }
    return end;
}

/** Every definition whose first line is in the stretch, nested ones as well. */
export function definitions(lines: readonly string[], from: number, to: number): Definition[] {
    const found: Definition[] = [];
    for (let at = from; at < to; at++) {
        const name = nameOf(lines, at);
        if (name !== undefined) {
            found.push({ name, start: at, end: endOf(lines, at, to) });
        }
    }
    return found;
}

/** The first of the lines right above that belong to a definition: decorators and comments. */
export function decoratedFrom(lines: readonly string[], start: number, from: number): number {
    const indent = indentOf(lines[start] ?? "");
    let first = start;
    while (first > from && indentOf(lines[first - 1] ?? "") >= indent && DECORATION.test((lines[first - 1] ?? "").trim())) {
        first -= 1;
    }
    return first;
}
