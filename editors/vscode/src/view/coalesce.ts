/** Gathers what comes faster than it can be painted, and hands it on once a frame, in its order. */
export class Coalescer<T> {
    private waiting: T[] = [];
    private isAsked = false;

    /** `nextFrame` calls back before the next paint. */
    constructor(
        private readonly nextFrame: (callback: () => void) => void,
        private readonly handle: (values: readonly T[]) => void,
    ) {}

    add(value: T): void {
        this.waiting.push(value);
        if (!this.isAsked) {
            this.isAsked = true;
            this.nextFrame(() => {
                this.flush();
            });
        }
    }

    flush(): void {
        const values = this.waiting;
        this.waiting = [];
        this.isAsked = false;
        if (values.length > 0) {
            this.handle(values);
        }
    }
}
