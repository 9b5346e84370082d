/** What fills a model's window, as shares of a bar. */
import type { ContextUsage } from "../protocol.gen";
import { CONTEXT, SAID } from "../texts";

export interface Share {
    readonly kind: string;
    readonly tokens: number;
    /** 0 to 100, of the window. */
    readonly percent: number;
}

/** In the order they stand in a request. What a later server adds comes behind these. */
const ORDER = ["system", "tools", "pins", "summaries", "messages", "previews", "injections", "overhead"];

/** The kinds of text, then what is free, and what is kept for the answer and for counts that are off; together they are the window. */
export function shares(usage: ContextUsage): Share[] {
    const rank = (kind: string) => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);
    const kinds = usage.byKind.filter((each) => each.tokens > 0).sort((a, b) => rank(a.kind) - rank(b.kind));
    const used = kinds.reduce((sum, each) => sum + each.tokens, 0);
    const whole = Math.max(usage.windowTokens, used + usage.reserveTokens, 1);
    const left = Math.max(0, whole - used - usage.reserveTokens);
    const free = Math.min(left, Math.max(0, usage.budgetTokens - used));
    const all = [...kinds, { kind: "free", tokens: free }, { kind: "reserve", tokens: usage.reserveTokens }, { kind: "margin", tokens: left - free }];
    return all.filter((each) => each.tokens > 0).map((each) => ({ ...each, percent: (100 * each.tokens) / whole }));
}

/** How a kind of share is called. */
export function nameOf(kind: string): string {
    return CONTEXT.kinds[kind] ?? kind;
}

export function describeShare(share: Share): string {
    return `${nameOf(share.kind)}: ${share.tokens.toLocaleString("en")} ${SAID.tokens} (${share.percent.toFixed(1)} %)`;
}
