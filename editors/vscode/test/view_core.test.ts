/** A long list draws only what is seen; what comes fast is painted once a frame; both ends come to the same answer. */
import { expect, test } from "vitest";

import { applyDelta } from "../src/live";
import { readFromHost, readFromView, type Live } from "../src/messages";
import type { TurnDelta } from "../src/protocol.gen";
import { Coalescer } from "../src/view/coalesce";
import { Heights } from "../src/view/heights";
import { Pace } from "../src/view/pace";
import { oneByOne } from "../src/view/painting";

test("of ten thousand rows only those near the window are drawn", () => {
    const heights = new Heights(10_000, 80);
    const { start, end } = heights.window(400_000, 600, 400);
    expect(end - start).toBeLessThan(25);
    expect(heights.offset(start)).toBeLessThanOrEqual(399_600);
    expect(heights.offset(end)).toBeGreaterThanOrEqual(401_000);
});

test("measured rows move those below them and no others", () => {
    const heights = new Heights(100, 10);
    expect(heights.set(50, 35)).toBe(25);
    expect([heights.offset(50), heights.offset(51), heights.total]).toEqual([500, 535, 1025]);
    expect([heights.indexAt(0), heights.indexAt(534), heights.indexAt(535), heights.indexAt(99_999)]).toEqual([0, 50, 51, 99]);
    heights.resize(120);
    expect([heights.at(50), heights.total]).toEqual([35, 1225]);
    heights.resize(0);
    expect(heights.window(0, 100, 10)).toEqual({ start: 0, end: 0 });
});

test("rows without a height are passed over", () => {
    const heights = new Heights(10, 10);
    heights.set(3, 0);
    expect(heights.indexAt(30)).toBe(4);
});

test("two hundred deltas of one frame are handled once, in their order", () => {
    const frames: Array<() => void> = [];
    const handled: number[][] = [];
    const coalescer = new Coalescer<number>((frame) => frames.push(frame), (values) => handled.push([...values]));
    for (let i = 0; i < 200; i++) {
        coalescer.add(i);
    }
    expect(frames.length).toBe(1);
    frames.shift()?.();
    expect(handled).toEqual([Array.from({ length: 200 }, (_, i) => i)]);
    coalescer.add(200);
    expect(frames.length).toBe(1);
});

/** A browser's window whose clock is turned by hand: 16 ms a frame, and idle behind each. */
class Hand {
    at = 1_000;
    isHidden = false;
    shown = 0;
    private frame: Array<() => void> = [];
    private idle: Array<() => void> = [];
    private timers: Array<{ at: number; callback: () => void }> = [];
    readonly pace = new Pace({
        now: () => this.at,
        isHidden: () => this.isHidden,
        beforePaint: (callback) => { this.frame.push(callback); },
        whenIdle: (callback) => { this.idle.push(callback); },
        after: (callback, ms) => { this.timers.push({ at: this.at + ms, callback }); },
    });

    ask(): void {
        this.pace.next(() => { this.shown = this.at; });
    }

    /** Lets time pass, frame by frame. When something was shown first since then, in ms from now; NaN: it was not. */
    pass(ms: number): number {
        const began = this.at;
        let first = NaN;
        for (let isFirst = true; this.at < began + ms; this.at += 16, isFirst = false) {
            const due = isFirst ? [] : this.timers.filter((each) => each.at <= this.at);
            this.timers = this.timers.filter((each) => !due.includes(each));
            for (const callback of [...due.map((each) => each.callback), ...this.frame.splice(0)]) {
                callback();
            }
            for (const callback of this.idle.splice(0)) {
                callback();
            }
            first = Number.isNaN(first) && this.shown >= began ? this.shown - began : first;
        }
        return first;
    }
}

test("words are shown before the next frame while nobody types, and in a hidden panel all the same", () => {
    const hand = new Hand();
    hand.ask();
    expect(hand.pass(1_000)).toBe(0);
    hand.isHidden = true;
    hand.ask();
    expect(hand.pass(1_000)).toBeLessThan(150);
});

test("while somebody types words come a few times a second, behind a key's frame", () => {
    const hand = new Hand();
    const shown: number[] = [];
    hand.pace.typed();
    hand.ask();
    for (let key = 0; key < 50; key++) {
        hand.pace.typed();
        const at = hand.pass(96);
        if (!Number.isNaN(at)) {
            shown.push(at);
            hand.ask();
        }
    }
    // Five seconds of typing.
    expect(shown.length).toBeGreaterThan(10);
    expect(shown.length).toBeLessThan(20);
    expect(Math.max(...shown)).toBeLessThanOrEqual(16);
});

test("words do not wait for ever for another key, and not at all behind what cannot wait", () => {
    const hand = new Hand();
    hand.pace.typed();
    hand.pass(16);
    hand.ask();
    expect(hand.pass(2_000)).toBeLessThan(700);
    hand.pace.typed();
    hand.pass(16);
    hand.ask();
    hand.pace.hurry();
    expect(hand.pass(2_000)).toBe(0);
});

const EMPTY: Live = { fromMessage: 0, seq: -1, parts: [] };
const play = (deltas: TurnDelta[], live = EMPTY) => deltas.reduce(applyDelta, live);

test("words, reasoning and tool calls stand in the order they came", () => {
    const live = play([
        { seq: 0, type: "turn", turnId: "t", conversationId: "c", userMessageId: 4 },
        { seq: 1, type: "thinking", text: "hm" },
        { seq: 2, type: "text", text: "Look" },
        { seq: 3, type: "text", text: "ing." },
        { seq: 4, type: "toolCall", callId: "a", name: "read_file" },
        { seq: 5, type: "toolArguments", callId: "a", text: '{"p":' },
        { seq: 6, type: "toolArguments", callId: "a", text: "1}" },
        { seq: 7, type: "done" },
        { seq: 8, type: "toolStart", callId: "a", name: "read_file" },
        { seq: 9, type: "toolResult", callId: "a", name: "read_file", text: "ok" },
        { seq: 10, type: "text", text: "Done." },
    ]);
    expect(live).toEqual({
        turnId: "t",
        fromMessage: 5,
        seq: 10,
        parts: [
            { type: "thinking", text: "hm" },
            { type: "text", text: "Looking." },
            { type: "tool", callId: "a", name: "read_file", arguments: '{"p":1}', result: "ok", isRunning: false },
            { type: "text", text: "Done." },
        ],
    });
});

test("of what a running tool writes the newest is kept, until its result is there", () => {
    const running = play([
        { seq: 1, type: "toolCall", callId: "a", name: "run_command" },
        { seq: 2, type: "toolStart", callId: "a", name: "run_command" },
        { seq: 3, type: "toolOutput", callId: "a", name: "run_command", text: "old ".repeat(10_000) },
        { seq: 4, type: "toolOutput", callId: "a", name: "run_command", text: "two of three" },
    ]);
    const [part] = running.parts;
    expect(part).toMatchObject({ type: "tool", isRunning: true });
    expect(part?.type === "tool" && part.output?.endsWith("old two of three")).toBe(true);
    expect(part?.type === "tool" && part.output?.length).toBe(20_000);
    expect(play([{ seq: 5, type: "toolResult", callId: "a", name: "run_command", text: "all" }], running).parts).toMatchObject([{ result: "all", isRunning: false }]);
});

test("a delta that was seen changes nothing", () => {
    const live = play([{ seq: 1, type: "text", text: "a" }]);
    expect(applyDelta(live, { seq: 1, type: "text", text: "a" })).toBe(live);
});

test("a result of a call that was said before one followed is still shown", () => {
    expect(play([{ seq: 9, type: "toolResult", callId: "z", name: "grep", text: "1" }]).parts).toEqual([
        { type: "tool", callId: "z", name: "grep", arguments: "", result: "1", isRunning: false },
    ]);
});

test("what is no message of the panel is dropped", () => {
    expect(readFromView({ type: "send", text: "hi" })).toEqual({ type: "send", text: "hi" });
    const wrong = [null, 1, "send", {}, { type: "send" }, { type: "send", text: 1 }, { type: "send", text: "a", attachments: [{ type: "file", path: "/etc/passwd" }] }, { type: "eval", code: "1" }, { type: "expand", summaryId: -1 }, { type: "approve", id: "1", answer: "yes" }];
    expect(wrong.map(readFromView)).toEqual(wrong.map(() => undefined));
});

test("what is no message of the host is dropped, and fields of a later protocol are ignored", () => {
    expect(readFromHost({ type: "deltas", deltas: [{ seq: 1, type: "text", text: "a", later: true }] })).toEqual({ type: "deltas", deltas: [{ seq: 1, type: "text", text: "a" }] });
    expect([{ type: "deltas", deltas: [{ seq: "1", type: "text" }] }, { type: "nothing" }, undefined].map(readFromHost)).toEqual([undefined, undefined, undefined]);
});

test("what changes while the panel is painted is painted behind it, and an error does not end that", () => {
    const done: string[] = [];
    let step = "one";
    const paint = oneByOne(() => {
        done.push(`${step} begins`);
        if (step === "one") {
            step = "two";
            paint();
        } else if (step === "two") {
            step = "three";
            throw new Error("It cannot be painted.");
        }
        done.push(`${step} ends`);
    });
    expect(paint).toThrow("It cannot be painted.");
    paint();
    expect(done).toEqual(["one begins", "two ends", "two begins", "three begins", "three ends"]);
});
