/** What a running turn has said so far, out of its deltas. Host and panel share it: both come to the same parts. */
import type { Live, LivePart } from "./messages";
import type { TurnDelta } from "./protocol.gen";

/** The newest characters of what a running tool writes that are shown. */
const OUTPUT = 20_000;

/** The turn with one more delta; the same object for one it has seen already. */
export function applyDelta(live: Live, delta: TurnDelta): Live {
    if (delta.seq <= live.seq) {
        return live;
    }
    const parts = applyToParts(live.parts, delta);
    const turnId = delta.type === "turn" ? (delta.turnId ?? live.turnId) : live.turnId;
    const fromMessage = delta.type === "turn" && delta.userMessageId !== undefined ? delta.userMessageId + 1 : live.fromMessage;
    const rest = { ...live };
    delete rest.pause; // whatever comes ends it
    const pause = delta.type === "pause" ? { pause: { seq: delta.seq, reason: delta.text ?? "", ms: delta.retryAfterMs ?? 0, nFailed: delta.nFailed ?? 1 } } : {};
    return { ...rest, ...pause, ...(turnId === undefined ? {} : { turnId }), fromMessage, seq: delta.seq, parts };
}

function applyToParts(parts: LivePart[], delta: TurnDelta): LivePart[] {
    const text = delta.text ?? "";
    switch (delta.type) {
        case "turn":
        case "pause":
        case "done":
            return parts;
        case "text":
        case "thinking": {
            const last = parts.at(-1);
            if (last?.type === delta.type) {
                return [...parts.slice(0, -1), { type: delta.type, text: last.text + text }];
            }
            return text === "" ? parts : [...parts, { type: delta.type, text }];
        }
        case "toolCall":
            return [
                ...parts,
                { type: "tool", callId: delta.callId ?? "", name: delta.name ?? "", arguments: "", isRunning: false },
            ];
        case "toolArguments":
            return changeTool(parts, delta, (tool) => ({ ...tool, arguments: tool.arguments + text }));
        case "toolStart":
            return changeTool(parts, delta, (tool) => ({ ...tool, isRunning: true }));
        case "toolOutput":
            return changeTool(parts, delta, (tool) => ({ ...tool, output: ((tool.output ?? "") + text).slice(-OUTPUT) }));
        case "toolResult":
            return changeTool(parts, delta, (tool) => ({ ...tool, result: text, isRunning: false, ...(delta.isError === true ? { isError: true } : {}) }));
        case "error":
            return [...parts, { type: "error", text }];
    }
}

type ToolPart = Extract<LivePart, { type: "tool" }>;

/** A start or result may come for a call that was said before this editor began to follow. */
function changeTool(parts: LivePart[], delta: TurnDelta, change: (tool: ToolPart) => ToolPart): LivePart[] {
    const callId = delta.callId ?? "";
    const index = parts.findLastIndex((part) => part.type === "tool" && part.callId === callId);
    const known = parts[index];
    if (known?.type === "tool") {
        return parts.with(index, change(known));
    }
    return [...parts, change({ type: "tool", callId, name: delta.name ?? "", arguments: "", isRunning: false })];
}
