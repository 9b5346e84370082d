/** Which messages are shown in the row of another one: the steps of an answer that only call tools, and their results. */
import type { MessageInfo, MessagePart } from "../protocol.gen";
import { layerOf } from "./memory";
import type { State } from "./state";
import type { ToolCall } from "./tool_line";

const NONE: readonly MessagePart[] = [];

/** The results of a message's calls: the messages of tools right behind it. */
export function resultsOf(messages: ReadonlyMap<number, MessageInfo>, message: MessageInfo): MessagePart[] {
    const found: MessagePart[] = [];
    for (let id = message.id + 1; messages.get(id)?.role === "tool"; id++) {
        found.push(...(messages.get(id)?.parts ?? NONE));
    }
    return found;
}

/** A call, with its result as far as that is there. */
export function callOf(call: MessagePart, results: readonly MessagePart[]): ToolCall {
    const result = results.find((each) => each.callId !== undefined && each.callId === call.callId);
    return { name: call.name ?? "", arguments: call.arguments ?? "", result: result?.text, isError: result?.isError };
}

/** The message before it that is no tool's. */
function before(state: State, message: MessageInfo): MessageInfo | undefined {
    for (let id = message.id - 1; id >= 0; id--) {
        const each = state.messages.get(id);
        if (each?.role !== "tool") {
            return each;
        }
    }
    return undefined;
}

const isSeen = (message: MessageInfo): boolean => message.role === "assistant" && !message.isHidden && message.isPurged !== true;

/** Whether a message only calls tools, behind one that ends with calls: both are one run of calls. */
function goesOn(state: State, message: MessageInfo): boolean {
    if (!isSeen(message) || message.parts.length === 0 || message.state !== "complete" || message.parts.some((each) => each.type !== "tool_call")) {
        return false;
    }
    const head = before(state, message);
    return head !== undefined && isSeen(head) && head.turnId === message.turnId && head.parts.at(-1)?.type === "tool_call" && layerOf(state.memory, head.id) === layerOf(state.memory, message.id);
}

/** Whether a message is shown in the row of one before it. */
export function isInEarlierRow(state: State, message: MessageInfo): boolean {
    if (message.role !== "tool" || message.isPurged === true) {
        return goesOn(state, message);
    }
    const ids = new Set(message.parts.map((each) => each.callId));
    const head = before(state, message);
    if (head === undefined && message.id > 0) {
        return true; // what called the tool is not loaded yet
    }
    return head?.role === "assistant" && head.isPurged !== true && head.parts.some((each) => each.type === "tool_call" && ids.has(each.callId));
}

/** What is shown in a message's row beside itself: the calls of the messages that go on with it, and all results. */
export interface Steps {
    readonly calls: readonly MessagePart[];
    readonly results: readonly MessagePart[];
}

const NO_STEPS: Steps = { calls: NONE, results: NONE };

export function stepsOf(state: State, message: MessageInfo): Steps {
    if (message.role !== "assistant" || message.parts.every((each) => each.type !== "tool_call")) {
        return NO_STEPS;
    }
    const calls: MessagePart[] = [];
    const results = resultsOf(state.messages, message);
    for (let id = message.id + 1; ; id++) {
        const next = state.messages.get(id);
        if (next?.role === "tool") {
            continue;
        }
        if (next === undefined || !goesOn(state, next)) {
            return { calls, results };
        }
        calls.push(...next.parts);
        results.push(...resultsOf(state.messages, next));
    }
}

/** Whole seconds from the question to the message; undefined where the question is not here. */
export function secondsOf(state: State, message: MessageInfo): number | undefined {
    for (let id = message.id - 1; id >= 0; id--) {
        const each = state.messages.get(id);
        if (each?.turnId !== message.turnId) {
            return undefined;
        }
        if (each?.role === "user") {
            const ms = Date.parse(message.createdAt) - Date.parse(each.createdAt);
            return Number.isFinite(ms) && ms >= 0 ? Math.round(ms / 1000) : undefined;
        }
    }
    return undefined;
}

/** Whether nothing of its turn comes behind the message, as far as messages are here. */
export function isTurnEnd(state: State, message: MessageInfo): boolean {
    for (let id = message.id + 1; ; id++) {
        const each = state.messages.get(id);
        if (each?.role !== "tool") {
            return each?.turnId !== message.turnId || each?.turnId === undefined;
        }
    }
}
