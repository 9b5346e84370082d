/** When a server that ended by itself is started again: at once, then after ever longer waits, and at last not any more. */

export type Next =
    | { readonly kind: "restart"; readonly delayMs: number }
    | { readonly kind: "giveUp" };

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** So many ends in a row and nobody believes in another try. */
const MOST = 6;
/** A server that lived that long was sound: counting begins again. */
const SOUND_MS = 120_000;

export class Backoff {
    private ends = 0;
    private startedAt: number;

    /** `now`: milliseconds of a clock that never goes back. */
    constructor(private readonly now: () => number) {
        this.startedAt = now();
    }

    started(): void {
        this.startedAt = this.now();
    }

    /** The user asked for a start: what happened before does not count. */
    reset(): void {
        this.ends = 0;
        this.started();
    }

    ended(): Next {
        if (this.now() - this.startedAt >= SOUND_MS) {
            this.ends = 0;
        }
        this.ends += 1;
        if (this.ends > MOST) {
            return { kind: "giveUp" };
        }
        return { kind: "restart", delayMs: this.ends === 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 4 ** (this.ends - 2)) };
    }
}
