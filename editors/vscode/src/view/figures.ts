/** Numbers and times as the panel writes them. */

/** `545`, `42.0k`, `186k`, `2.1M`. */
export function short(n: number): string {
    if (n < 1_000) {
        return String(Math.round(n));
    }
    if (n < 999_500) {
        return n < 99_950 ? `${(n / 1_000).toFixed(1)}k` : `${Math.round(n / 1_000)}k`;
    }
    return `${(n / 1_000_000).toFixed(1)}M`;
}

/** `<1%`, `23%`. */
export function percent(part: number, whole: number): string {
    const share = whole <= 0 ? 0 : (100 * part) / whole;
    return share > 0 && share < 1 ? "<1%" : `${Math.round(share)}%`;
}

export function counted(n: number, one: string, many = `${one}s`): string {
    return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const DAY_MS = 86_400_000;

const startOfDay = (at: Date): number => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();

/** Whole days between two moments by the calendar; 0: the same day. */
export function daysBetween(then: Date, now: Date): number {
    return Math.round((startOfDay(now) - startOfDay(then)) / DAY_MS);
}

export function time(at: Date): string {
    return at.toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" });
}

/** `9 s`, `2 min 5 s`. */
export function spent(seconds: number): string {
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** `Today`, `Mon`, `Nov 12`, `Nov 12, 2025`. */
export function day(at: Date, now: Date): string {
    const days = daysBetween(at, now);
    if (days <= 0) {
        return "Today";
    }
    if (days < 7) {
        return at.toLocaleDateString("en", { weekday: "short" });
    }
    return at.getFullYear() === now.getFullYear() ? at.toLocaleDateString("en", { month: "short", day: "numeric" }) : date(at);
}

/** `Nov 12, 2025`. */
export function date(at: Date): string {
    return at.toLocaleDateString("en", { month: "short", day: "numeric", year: "numeric" });
}

/** `Today 2:43 PM`, `Mon 9:12 AM`. */
export function moment(at: Date, now: Date): string {
    return `${day(at, now)} ${time(at)}`;
}

/** As it stands behind "on" or alone: `today`, `yesterday`, `Monday`, `Nov 12`. */
export function dayInWords(at: Date, now: Date): string {
    const days = daysBetween(at, now);
    if (days <= 1) {
        return days <= 0 ? "today" : "yesterday";
    }
    return days < 7 ? `on ${at.toLocaleDateString("en", { weekday: "long" })}` : `on ${day(at, now)}`;
}
