/** The requests of a conversation as bars, and the changes between them as marks and lines of text. */
import type { ContextMoment } from "../protocol.gen";
import { MOMENTS } from "../texts";
import { counted, percent, short } from "./figures";

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
            return { icon: "fold", what: MOMENTS.summarized, detail: MOMENTS.wasFull(percent(before, budget)) };
        case "user":
            return { icon: "fold", what: MOMENTS.summarized, detail: MOMENTS.youAsked };
        case "model":
            return { icon: "arrow-swap", what: MOMENTS.modelChanged, detail: moment.model === undefined ? "" : MOMENTS.to(moment.model) };
        case "rollback":
            return { icon: "discard", what: MOMENTS.rolledBack, detail: MOMENTS.rolledBackWhy };
        case "frame":
            return { icon: "refresh", what: MOMENTS.startedOver, detail: MOMENTS.startedOverWhy };
        case "layout":
            return { icon: "refresh", what: MOMENTS.chosenAnew, detail: MOMENTS.chosenAnewWhy };
        case "undo":
            return { icon: "discard", what: MOMENTS.undone, detail: MOMENTS.undoneWhat };
        case "redo":
            return { icon: "redo", what: MOMENTS.doneAgain, detail: MOMENTS.doneAgainWhat };
        default:
            return { icon: "fold", what: MOMENTS.changed, detail: moment.cause ?? "" };
    }
}

/** The chart in a sentence. */
export function describeTimeline({ bars, cuts }: Timeline): string {
    if (bars.length === 0) {
        return MOMENTS.noneSent;
    }
    const largest = Math.max(...bars.map((each) => each.tokens));
    const newest = bars.at(-1)?.tokens ?? 0;
    const changes = cuts.map((each) => MOMENTS.fromTo(each.what.toLowerCase(), short(each.before), short(each.after))).slice(-5);
    const requests = bars.length === 1 ? MOMENTS.request : counted(bars.length, MOMENTS.request);
    return `${MOMENTS.timeline(requests, short(newest), short(largest))}${changes.length === 0 ? "" : MOMENTS.changes(changes.join("; "))}`;
}
