/**
 * When what streams in is shown: before the next frame. While somebody types a few times a second, right behind the
 * frame that shows a key, so that no key waits for words. Nothing waits for ever.
 */
const HIDDEN_MS = 100;
/** After the last key somebody has stopped typing. */
const TYPING_MS = 300;

/** What of a browser's window is needed. */
export interface Frames {
    now(): number;
    isHidden(): boolean;
    /** Calls back before the next paint. */
    beforePaint(callback: () => void): void;
    /** Calls back when nothing else is to be done, or after the time. */
    whenIdle(callback: () => void, mostMs: number): void;
    after(callback: () => void, ms: number): void;
}

export class Pace {
    private typedAt = -Infinity;
    private shownAt = -Infinity;
    private waiting: (() => void) | undefined;

    constructor(private readonly frames: Frames) {}

    /** A key was pressed. */
    typed(): void {
        this.typedAt = this.frames.now();
        this.frames.beforePaint(() => {
            this.frames.whenIdle(() => {
                if (this.frames.now() >= this.shownAt + TYPING_MS) {
                    this.show();
                }
            }, TYPING_MS);
        });
    }

    /** Calls back once; one waits at a time. */
    next(callback: () => void): void {
        if (this.frames.isHidden()) {
            // A hidden panel paints no frames and must not pile up what comes meanwhile.
            this.frames.after(callback, HIDDEN_MS);
        } else if (this.frames.now() >= this.typedAt + TYPING_MS) {
            this.frames.beforePaint(callback);
        } else {
            this.waiting = callback;
            this.frames.after(() => {
                if (this.waiting === callback) {
                    this.show();
                }
            }, 2 * TYPING_MS);
        }
    }

    /** Something came that does not wait for keys. */
    hurry(): void {
        if (this.waiting !== undefined) {
            this.frames.beforePaint(() => {
                this.show();
            });
        }
    }

    private show(): void {
        const callback = this.waiting;
        this.waiting = undefined;
        if (callback !== undefined) {
            this.shownAt = this.frames.now();
            callback();
        }
    }
}
