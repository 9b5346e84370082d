/**
 * A growing Markdown text as blocks. Every block but the last is final: what comes later cannot change it, so only the
 * last one is rendered again while an answer streams.
 */
import MarkdownIt from "markdown-it";

export interface Block {
    readonly text: string;
    /** A block of code whose end has not come. */
    readonly isOpenFence: boolean;
}

/** The block rules alone: no text is looked into. */
const parser = new MarkdownIt("default", { html: false }).disable(["inline", "linkify", "replacements", "smartquotes"], true);

/** A block that is longer is cut at a line's end and goes on as another one, so that none is expensive. */
const LONGEST_BLOCK = 8_000;
/** Code is not parsed, so it may be longer. */
const LONGEST_CODE = 30_000;

export class GrowingBlocks {
    /** In their order; they do not change any more. */
    readonly done: Block[] = [];
    private open = "";
    private fence: Fence | undefined;
    /** Code that is being read: what was looked at in `open`. */
    private scanned = 0;

    /** The block that may still change; an empty text for none. */
    get last(): Block {
        return { text: this.open, isOpenFence: this.fence !== undefined };
    }

    append(text: string): void {
        this.open += text;
        if (!text.includes("\n") && this.open.length <= LONGEST_BLOCK) {
            return; // Lines are only judged when their end has come.
        }
        while (this.settleOne());
    }

    /** Moves what is final to `done`; whether to look again. */
    private settleOne(): boolean {
        if (this.fence !== undefined) {
            return this.readFence(this.fence);
        }
        const whole = this.open.lastIndexOf("\n") + 1;
        if (whole === 0) {
            return this.cutLong();
        }
        const starts = topLevelStarts(this.open.slice(0, whole));
        const lastStart = starts.at(-1)?.offset ?? 0;
        if (lastStart > 0) {
            for (const [index, start] of starts.entries()) {
                const next = starts[index + 1];
                if (next !== undefined) {
                    this.done.push({ text: this.open.slice(index === 0 ? 0 : start.offset, next.offset), isOpenFence: false });
                }
            }
            this.open = this.open.slice(lastStart);
        }
        const last = starts.at(-1);
        if (last?.fence !== undefined) {
            this.fence = last.fence;
            this.scanned = this.open.indexOf("\n", leadingBlank(this.open)) + 1;
            return true;
        }
        return this.cutLong();
    }

    private readFence(fence: Fence): boolean {
        for (let end = this.open.indexOf("\n", this.scanned); end !== -1; end = this.open.indexOf("\n", this.scanned)) {
            const line = this.open.slice(this.scanned, end);
            this.scanned = end + 1;
            if (closes(line, fence)) {
                this.done.push({ text: this.open.slice(0, this.scanned), isOpenFence: false });
                this.restart(this.open.slice(this.scanned));
                return true;
            }
            if (this.scanned > LONGEST_CODE) {
                const rest = this.open.slice(this.scanned);
                this.done.push({ text: `${this.open.slice(0, this.scanned)}${fence.marker}\n`, isOpenFence: false });
                this.open = `${fence.marker}${fence.info}\n${rest}`;
                this.scanned = fence.marker.length + fence.info.length + 1;
            }
        }
        return false;
    }

    private restart(rest: string): void {
        this.open = rest;
        this.fence = undefined;
        this.scanned = 0;
    }

    private cutLong(): boolean {
        if (this.open.length <= LONGEST_BLOCK) {
            return false;
        }
        const newline = this.open.lastIndexOf("\n", LONGEST_BLOCK);
        const end = newline <= 0 ? LONGEST_BLOCK : newline + 1;
        this.done.push({ text: this.open.slice(0, end), isOpenFence: false });
        this.open = this.open.slice(end);
        return this.open.length > 0;
    }
}

interface Fence {
    readonly marker: string;
    readonly info: string;
}

interface Start {
    readonly offset: number;
    /** Of a block of code whose end has not come. */
    readonly fence?: Fence;
}

function topLevelStarts(text: string): Start[] {
    const lines = lineOffsets(text);
    const starts: Start[] = [];
    for (const token of parser.parse(text, {})) {
        if (token.level !== 0 || token.map === null || token.nesting === -1) {
            continue;
        }
        const offset = lines[token.map[0]] ?? 0;
        const end = lines[token.map[1]] ?? text.length;
        // markdown-it ends an unclosed fence at the end of the text; whether it is closed shows its last line.
        const isOpen = token.type === "fence" && end >= text.trimEnd().length && !closes(lastLine(text.slice(offset)), { marker: token.markup, info: "" });
        starts.push(isOpen ? { offset, fence: { marker: token.markup, info: token.info } } : { offset });
    }
    return starts;
}

function lineOffsets(text: string): number[] {
    const offsets = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
        offsets.push(at + 1);
    }
    return offsets;
}

function lastLine(text: string): string {
    const lines = text.trimEnd().split("\n");
    return lines.length < 2 ? "" : (lines.at(-1) ?? "");
}

function leadingBlank(text: string): number {
    return text.length - text.trimStart().length;
}

/** CommonMark 4.5: a closing fence is at least as long, indented by at most three, and followed by blanks alone. */
function closes(line: string, fence: Fence): boolean {
    const trimmed = line.replace(/^ {0,3}/, "").trimEnd();
    const character = fence.marker[0] ?? "`";
    return trimmed.length >= fence.marker.length && trimmed === character.repeat(trimmed.length);
}
