/** The requests of a conversation as bars, and the changes between them as marks and lines of text. */
import type { ContextMoment } from "../protocol.gen";
import { percent, short } from "./figures";

/** From so many times the largest request on a limit is far away. */
const FAR = 4;

export interface Bar {
    readonly at: string;
    readonly tokens: number;
    /** Of these the service read so many from its cache. */
    readonly cached: number;
}

export interface Cut {
    /** The number of the first bar behind it. */
    readonly bar: number;
    readonly at: string;
    readonly icon: string;
    readonly what: string;
    readonly detail: string;
    readonly before: number;
    readonly after: number;
}

export interface Timeline {
    readonly bars: readonly Bar[];
    readonly cuts: readonly Cut[];
    /** The tokens at the top of the chart. */
    readonly most: number;
    /** Whether the limit lies in the chart: far above the bars it would leave nothing of them. */
    readonly showsLimit: boolean;
}

/** `limit`: where older messages are summarized; undefined where they never are. */
export function timelineOf(moments: readonly ContextMoment[], budget: number, limit: number | undefined): Timeline {
    const bars: Bar[] = [];
    const cuts: Cut[] = [];
    for (const each of moments) {
        if (each.cause === undefined) {
            bars.push({ at: each.timestamp, tokens: each.tokens, cached: Math.min(each.cachedTokens ?? 0, each.tokens) });
        } else {
            const before = each.tokensBefore ?? each.tokens;
            cuts.push({ bar: bars.length, at: each.timestamp, ...describeCut(each, before, budget), before, after: each.tokens });
        }
    }
    const largest = Math.max(...bars.map((each) => each.tokens), 1);
    const showsLimit = limit !== undefined && limit < FAR * largest;
    return { bars, cuts, most: (showsLimit ? Math.max(limit, largest) : 1.15 * largest) * 1.12, showsLimit };
}

function describeCut(moment: ContextMoment, before: number, budget: number): { icon: string; what: string; detail: string } {
    switch (moment.cause ?? "") {
        case "threshold":
            return { icon: "fold", what: "Summarized", detail: `it was ${percent(before, budget)} full` };
        case "user":
            return { icon: "fold", what: "Summarized", detail: "you asked" };
        case "model":
            return { icon: "arrow-swap", what: "Model changed", detail: moment.model === undefined ? "" : `to ${moment.model}` };
        case "rollback":
            return { icon: "discard", what: "Rolled back", detail: "messages are hidden or deleted" };
        case "frame":
            return { icon: "refresh", what: "Started over", detail: "instructions or tools changed" };
        case "layout":
            return { icon: "refresh", what: "Chosen anew", detail: "for this turn" };
        case "undo":
            return { icon: "discard", what: "Undone", detail: "the last change" };
        case "redo":
            return { icon: "redo", what: "Done again", detail: "what was undone" };
        default:
            return { icon: "fold", what: "Changed", detail: moment.cause ?? "" };
    }
}

/** The chart in a sentence. */
export function describeTimeline({ bars, cuts }: Timeline): string {
    if (bars.length === 0) {
        return "No request has been sent yet.";
    }
    const largest = Math.max(...bars.map((each) => each.tokens));
    const newest = bars.at(-1)?.tokens ?? 0;
    const changes = cuts.map((each) => `${each.what.toLowerCase()} from ${short(each.before)} to ${short(each.after)}`).slice(-5);
    const then = changes.length === 0 ? "" : ` Changes: ${changes.join("; ")}.`;
    return `Tokens of the last ${bars.length === 1 ? "request" : `${bars.length} requests`}: ${short(newest)} now, at most ${short(largest)}.${then}`;
}
