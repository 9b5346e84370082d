/** What the panel knows of summaries, facts and a deletion that waits, and how each message changes it. No DOM. */
import type { FromHost } from "../messages";
import type { FactInfo, PurgePlan, SummaryInfo } from "../protocol.gen";

/** How the sheet of a summary lies in the conversation. */
export interface OpenLayer {
    readonly tab: "summary" | "originals";
    /** How many originals are shown. */
    readonly shown: number;
}

/** Originals that are shown at first. */
export const FIRST_ORIGINALS = 10;

export interface FactFolder {
    readonly uri: string;
    readonly name: string;
    readonly facts: readonly FactInfo[];
}

export interface Memory {
    /** The summaries in the context of the open conversation, the one of the oldest messages first. */
    readonly summaries: readonly SummaryInfo[];
    /** Those that are open, by the first message they stand for. */
    readonly openLayers: ReadonlyMap<number, OpenLayer>;
    /** Undefined until they were read. */
    readonly facts?: readonly FactFolder[] | undefined;
    /** Facts that were forgotten while the page was shown; they can be restored. */
    readonly forgotten: readonly { readonly fact: FactInfo; readonly folderUri: string }[];
    /** Stale facts by folder. */
    readonly stale: ReadonlyMap<string, number>;
    /** How many were stale when somebody hid the line about them. */
    readonly hiddenStale: number;
    readonly deletion?: { readonly conversationId: string; readonly plan: PurgePlan } | undefined;
}

export const NO_MEMORY: Memory = { summaries: [], openLayers: new Map(), forgotten: [], stale: new Map(), hiddenStale: 0 };

export type MemoryMessage = Extract<FromHost, { type: "summaries" | "facts" | "factCounts" | "forgotten" | "deletion" }>;

export type LocalMemory =
    | { readonly type: "layer"; readonly start: number; readonly layer: OpenLayer | undefined }
    | { readonly type: "hideStale" }
    | { readonly type: "cancelDeletion" };

export function reduceMemory(memory: Memory, message: MemoryMessage | LocalMemory, open: { readonly id: string | undefined; readonly showMessage: number | undefined }): Memory {
    switch (message.type) {
        case "summaries":
            return message.conversationId === open.id ? opened({ ...memory, summaries: message.items }, open.showMessage, "originals") : memory;
        case "facts":
            return { ...memory, facts: message.folders };
        case "factCounts": {
            const stale = new Map(memory.stale).set(message.folderUri, message.stale);
            return { ...memory, stale, hiddenStale: staleCount(stale) === memory.hiddenStale ? memory.hiddenStale : 0 };
        }
        case "forgotten": {
            const isThis = (each: { readonly fact: FactInfo; readonly folderUri: string }) => each.fact.id === message.factId && each.folderUri === message.folderUri;
            const others = memory.forgotten.filter((each) => !isThis(each));
            const fact = memory.facts?.find((each) => each.uri === message.folderUri)?.facts.find((each) => each.id === message.factId);
            return { ...memory, forgotten: message.isForgotten && fact !== undefined ? [...others, { fact, folderUri: message.folderUri }] : others };
        }
        case "deletion":
            return { ...memory, deletion: message.plan === undefined ? undefined : { conversationId: message.conversationId, plan: message.plan } };
        case "layer": {
            const openLayers = new Map(memory.openLayers);
            if (message.layer === undefined) {
                openLayers.delete(message.start);
            } else {
                openLayers.set(message.start, message.layer);
            }
            return { ...memory, openLayers };
        }
        case "hideStale":
            return { ...memory, hiddenStale: staleCount(memory.stale) };
        case "cancelDeletion":
            return { ...memory, deletion: undefined };
    }
}

/** With the sheet open that hides the message; the same where none does. */
export function opened(memory: Memory, messageId: number | undefined, tab: OpenLayer["tab"]): Memory {
    const summary = messageId === undefined ? undefined : layerOf(memory, messageId);
    if (messageId === undefined || summary === undefined) {
        return memory;
    }
    const { start } = summary.messages;
    const shown = Math.max(FIRST_ORIGINALS, memory.openLayers.get(start)?.shown ?? 0, messageId - start + FIRST_ORIGINALS / 2);
    return { ...memory, openLayers: new Map(memory.openLayers).set(start, { tab, shown }) };
}

export function staleCount(stale: ReadonlyMap<string, number>): number {
    return [...stale.values()].reduce((sum, each) => sum + each, 0);
}

/** The summary that stands for the message. */
export function layerOf(memory: Memory, messageId: number): SummaryInfo | undefined {
    return memory.summaries.find(({ messages }) => messages.start <= messageId && messageId < messages.end);
}
