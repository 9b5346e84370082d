/** The heights of a long list's rows: measured ones where they are known, a guess elsewhere. A Fenwick tree of them. */
export class Heights {
    private tree: Float64Array;
    private heights: Float64Array;

    constructor(
        private n: number,
        private readonly guess: number,
    ) {
        this.heights = new Float64Array(n).fill(guess);
        this.tree = build(this.heights);
    }

    get length(): number {
        return this.n;
    }

    /** Adds or removes rows at the end; the others keep their heights. */
    resize(n: number): void {
        if (n === this.n) {
            return;
        }
        const heights = new Float64Array(n).fill(this.guess);
        heights.set(this.heights.subarray(0, Math.min(n, this.n)));
        this.n = n;
        this.heights = heights;
        this.tree = build(heights);
    }

    at(index: number): number {
        return this.heights[index] ?? 0;
    }

    /** By how much the row grew. */
    set(index: number, height: number): number {
        const change = height - this.at(index);
        if (change !== 0 && index < this.n) {
            this.heights[index] = height;
            for (let i = index + 1; i <= this.n; i += i & -i) {
                this.tree[i] = (this.tree[i] ?? 0) + change;
            }
        }
        return change;
    }

    /** Gives the rows [start, end) one height. */
    fill(start: number, end: number, height: number): void {
        this.heights.fill(height, start, Math.min(end, this.n));
        this.tree = build(this.heights);
    }

    /** Where a row begins. */
    offset(index: number): number {
        let sum = 0;
        for (let i = Math.min(index, this.n); i > 0; i -= i & -i) {
            sum += this.tree[i] ?? 0;
        }
        return sum;
    }

    get total(): number {
        return this.offset(this.n);
    }

    /** The row that holds the point `y`; the last row below the end. */
    indexAt(y: number): number {
        let index = 0;
        let rest = y;
        for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.n))); step >= 1; step /= 2) {
            const next = index + step;
            if (next <= this.n && (this.tree[next] ?? 0) <= rest) {
                index = next;
                rest -= this.tree[next] ?? 0;
            }
        }
        return Math.max(0, Math.min(index, this.n - 1));
    }

    /** The rows to draw for a window onto the list, with some more on both sides; `end` is one past the last. */
    window(top: number, height: number, margin: number): { start: number; end: number } {
        if (this.n === 0) {
            return { start: 0, end: 0 };
        }
        return { start: this.indexAt(Math.max(0, top - margin)), end: Math.min(this.n, this.indexAt(top + height + margin) + 1) };
    }
}

function build(heights: Float64Array): Float64Array {
    const tree = new Float64Array(heights.length + 1);
    for (let i = 1; i <= heights.length; i++) {
        tree[i] = (tree[i] ?? 0) + (heights[i - 1] ?? 0);
        const parent = i + (i & -i);
        if (parent <= heights.length) {
            tree[parent] = (tree[parent] ?? 0) + (tree[i] ?? 0);
        }
    }
    return tree;
}
