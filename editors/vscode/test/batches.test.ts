/** Words are handed on in their order and none is lost: the first at once, the others together. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Batches } from "../src/chat/batches";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

test("the first is handed on at once, what follows together, and a flush does not wait", () => {
    const told: number[][] = [];
    const batches = new Batches<number>(30, (values) => told.push(values));
    [0, 1, 2].forEach((each) => { batches.add(each); });
    expect(told).toEqual([[0]]);
    vi.advanceTimersByTime(30);
    expect(told).toEqual([[0], [1, 2]]);
    batches.add(3);
    batches.flush();
    vi.advanceTimersByTime(100);
    batches.add(4);
    expect(told).toEqual([[0], [1, 2], [3], [4]]);
});
