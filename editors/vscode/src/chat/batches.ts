/** Gathers what comes faster than anybody sees it. The first of it is handed on at once, the rest a few times a second. */
export class Batches<T> {
    private waiting: T[] = [];
    private timer: ReturnType<typeof setTimeout> | undefined;
    private last = -Infinity;

    constructor(
        private readonly everyMs: number,
        private readonly handle: (values: T[]) => void,
    ) {}

    add(value: T): void {
        this.waiting.push(value);
        if (this.timer === undefined) {
            const rest = this.last + this.everyMs - performance.now();
            if (rest <= 0) {
                this.flush();
            } else {
                this.timer = setTimeout(() => {
                    this.flush();
                }, rest);
            }
        }
    }

    /** Hands on what waits, in its order. */
    flush(): void {
        clearTimeout(this.timer);
        this.timer = undefined;
        const values = this.waiting;
        this.waiting = [];
        if (values.length > 0) {
            this.last = performance.now();
            this.handle(values);
        }
    }
}
