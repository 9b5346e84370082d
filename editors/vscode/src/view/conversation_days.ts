/** Conversations by day: Today, Yesterday, Last week, then month by month. */
import type { ConversationInfo } from "../protocol.gen";
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
        return days <= 0 ? "Today" : "Yesterday";
    }
    if (days <= 7) {
        return "Last week";
    }
    return at.toLocaleDateString("en", at.getFullYear() === now.getFullYear() ? { month: "long" } : { month: "long", year: "numeric" });
}

/** The text in pieces: every second one is a word that was looked for. */
export function marked(text: string, query: string): string[] {
    const words = query.split(/\s+/u).filter((each) => each.length > 1).map((each) => each.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&"));
    return words.length === 0 ? [text] : text.split(new RegExp(`(${words.join("|")})`, "giu"));
}
