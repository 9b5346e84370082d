/** Conversations by day: Today, Yesterday, Last week, then month by month. */
import type { ConversationInfo } from "../protocol.gen";
import { HISTORY } from "../texts";
import { daysBetween } from "./figures";

export interface Period {
    readonly name: string;
    readonly items: readonly ConversationInfo[];
}

export function periodsOf(items: readonly ConversationInfo[], now: Date): Period[] {
    const found: { name: string; items: ConversationInfo[] }[] = [];
    for (const each of items.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))) {
        const name = periodOf(new Date(each.updatedAt), now);
        const last = found.at(-1);
        if (last?.name === name) {
            last.items.push(each);
        } else {
            found.push({ name, items: [each] });
        }
    }
    return found;
}

function periodOf(at: Date, now: Date): string {
    const days = daysBetween(at, now);
    if (days <= 1) {
        return days <= 0 ? HISTORY.periods.today : HISTORY.periods.yesterday;
    }
    if (days <= 7) {
        return HISTORY.periods.lastWeek;
    }
    return at.toLocaleDateString("en", at.getFullYear() === now.getFullYear() ? { month: "long" } : { month: "long", year: "numeric" });
}

/** Characters in front of the first word that was found: so it is in sight however narrow the panel is. */
const BEFORE = 24;

/** The text in pieces, from shortly before the first word that was looked for: every second one is such a word. */
export function marked(text: string, query: string): string[] {
    const words = query.split(/\s+/u).filter((each) => each.length > 1).map((each) => each.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"));
    if (words.length === 0) {
        return [text];
    }
    const [first = "", ...rest] = text.split(new RegExp(`(${words.join("|")})`, "giu"));
    const isLong = rest.length > 0 && first.length > 2 * BEFORE;
    return [isLong ? `…${first.slice(-BEFORE).trimStart()}` : first, ...rest];
}
