/** What models cost, as the panel writes it: money where a price is known, tokens where none is. */
import type { Costs } from "../protocol.gen";
import { COSTS } from "../texts";
import { short } from "./figures";

/** Smaller sums are written as less than it. */
const LEAST = 0.0001;

/** `$0.00`, `$0.0042`, `$0.42`, `$1,204.50`. */
export function money(dollars: number): string {
    if (dollars > 0 && dollars < LEAST) {
        return `<$${LEAST}`;
    }
    const isSmall = dollars > 0 && dollars < 0.0995;
    const digits = isSmall ? 1 - Math.floor(Math.log10(dollars)) : 2;
    return dollars.toLocaleString("en", { style: "currency", currency: "USD", minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Undefined where no price is known. */
export function price({ dollars, isPriced, lines }: Costs): string | undefined {
    if (!isPriced && lines.every((each) => each.dollars === undefined)) {
        return undefined;
    }
    const isEstimated = lines.some((each) => each.estimatedCalls > 0);
    return `${isPriced ? "" : `${COSTS.atLeast} `}${isEstimated ? `${COSTS.about} ` : ""}${money(dollars)}`;
}

export interface Tokens {
    readonly calls: number;
    /** With what came from the service's cache and went to it. */
    readonly sent: number;
    readonly cached: number;
    readonly written: number;
    readonly answered: number;
}

export function tokensOf(costs: Costs): Tokens {
    const sum = (of: (line: Costs["lines"][number]) => number) => costs.lines.reduce((all, line) => all + of(line), 0);
    return {
        calls: sum((line) => line.calls),
        sent: sum((line) => line.inputTokens + line.cacheReadTokens + line.cacheWriteTokens),
        cached: sum((line) => line.cacheReadTokens),
        written: sum((line) => line.cacheWriteTokens),
        answered: sum((line) => line.outputTokens),
    };
}

/** `12.4k sent · 9.0k from cache · 1.2k to cache · 310 answered`. */
export function describeTokens(costs: Costs): string {
    const { sent, cached, written, answered } = tokensOf(costs);
    const parts = [`${short(sent)} ${COSTS.sent}`, cached > 0 && `${short(cached)} ${COSTS.fromCache}`, written > 0 && `${short(written)} ${COSTS.toCache}`, `${short(answered)} ${COSTS.answered}`];
    return parts.filter((each) => each !== false).join(" · ");
}

/** Money, or the tokens sent and answered. */
export function sumOf(costs: Costs): string {
    const { sent, answered } = tokensOf(costs);
    return price(costs) ?? `${short(sent)} ${COSTS.sent} · ${short(answered)} ${COSTS.answered}`;
}

/** The part of one purpose. */
export function ofPurpose(costs: Costs, isOf: (purpose: string) => boolean): Costs {
    const lines = costs.lines.filter((each) => isOf(each.purpose));
    return { lines, dollars: lines.reduce((sum, each) => sum + (each.dollars ?? 0), 0), isPriced: lines.every((each) => each.dollars !== undefined) };
}

export const ANSWERS = "answer";

/** What helping models were asked for, each apart. */
export function helpers(costs: Costs): ReadonlyArray<readonly [string, Costs]> {
    const purposes = [...new Set(costs.lines.map((each) => each.purpose))].filter((each) => each !== ANSWERS);
    return purposes.map((purpose) => [COSTS.helpers[purpose] ?? purpose, ofPurpose(costs, (each) => each === purpose)]);
}
