/**
 * Every message between the extension host and the panel, declared once. Both ends read through `readFromView` and
 * `readFromHost`: what does not fit the declaration is dropped and counted, never acted on. Ids of things that only the
 * host holds (attachments, approvals) are the host's; a view can name them and cannot make them up.
 */
import * as v from "valibot";

import * as w from "./shapes";

const id = v.pipe(v.string(), v.maxLength(200));
const number = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));
/** What a person types or a button carries; far above what either makes. */
const text = v.pipe(v.string(), v.maxLength(4_000_000));
const line = v.pipe(v.string(), v.maxLength(10_000));

const says = <N extends string, F extends v.ObjectEntries>(type: N, fields: F) => v.strictObject({ type: v.literal(type), ...fields });

/** What a view sees of an attachment. */
export const chip = v.object({ id, label: v.string(), tokens: number, problem: v.exactOptional(v.string()), isSelection: v.boolean(), /** A small picture, as a data URL. */ thumbnail: v.exactOptional(v.string()) });
export type Chip = v.InferOutput<typeof chip>;

/** What happened to a context beside its requests and compactions. */
export const contextEvent = v.object({ at: v.string(), what: v.string(), detail: v.string() });
export type ContextEventLine = v.InferOutput<typeof contextEvent>;

/** From the panel to the host: what a person does. Strict, because what stands in a panel is not trusted. */
export const fromView = v.variant("type", [
    says("ready", {}),
    says("listConversations", {}),
    says("search", { query: line }),
    says("open", { conversationId: id, messageId: v.exactOptional(number) }),
    says("newConversation", {}),
    /** Without a title the host asks for one. */
    says("rename", { conversationId: id, title: v.exactOptional(line) }),
    says("fork", { messageId: v.exactOptional(number) }),
    says("archive", { conversationId: id, isArchived: v.boolean() }),
    says("read", { conversationId: id, start: number }),
    says("send", { text }),
    says("stop", {}),
    /** Asks the model at once that is asked again after a pause. */
    says("retryNow", {}),
    says("retry", { turnId: id, takeBackChanges: v.exactOptional(v.boolean()) }),
    /** Without a path: all files that the turn changed. */
    says("undoChanges", { turnId: id, path: v.exactOptional(line) }),
    says("reviewChanges", { turnId: id, path: v.exactOptional(line) }),
    says("continue", { turnId: id }),
    says("editAndFork", { messageId: number, text }),
    says("draft", { conversationId: v.exactOptional(id), text }),
    says("complete", { seq: number, text, position: number }),
    says("attachFiles", { uris: v.pipe(v.array(line), v.maxLength(50)) }),
    says("attachPath", { path: line }),
    says("attachSelection", {}),
    says("attachTerminal", { text }),
    /** `data`: the bytes of the file in base64; empty for a file that is too large. */
    says("attachPicture", { name: line, data: v.pipe(v.string(), v.maxLength(28_000_000)), thumbnail: v.exactOptional(v.pipe(v.string(), v.startsWith("data:image/"), v.maxLength(200_000))) }),
    says("readPicture", { digest: id }),
    says("detach", { id }),
    says("copy", { text }),
    says("insert", { text }),
    /** `info`: what stands behind the fence of the block. */
    says("apply", { text, info: line }),
    says("openLink", { href: line }),
    /** A path of a workspace folder, as an answer names it. `line`: counted from 0. */
    says("openPath", { path: line, line: v.exactOptional(number) }),
    /** Puts a command into a terminal, without running it. */
    says("toTerminal", { text }),
    says("approve", { id, answer: v.picklist(["once", "always", "deny", "never", "editsOfTurn"]) }),
    says("recover", { turnId: id, action: v.picklist(["continue", "keep", "discard", "retry"]), asDraft: v.exactOptional(v.boolean()) }),
    says("explain", {}),
    /** What models cost; of a turn as well where one is named. */
    says("costs", { turnId: v.exactOptional(id) }),
    says("changeBudget", {}),
    /** `upTo`: the last message to summarize; absent: all but the newest. */
    says("summarize", { upTo: v.exactOptional(number) }),
    says("expand", { summaryId: number }),
    says("regenerate", { summaryId: number }),
    says("undo", {}),
    says("redo", {}),
    says("pickModel", {}),
    /** The open conversation has this model from now on. */
    says("goOnWith", { model: line }),
    says("setUp", { service: v.exactOptional(id) }),
    says("choosePython", {}),
    says("share", {}),
    says("confirmShare", { conversationId: id }),
    says("unshare", {}),
    says("listShared", {}),
    says("openShared", { conversationId: id }),
    says("readers", {}),
    says("forkAndGoOn", { text }),
    says("planDeletion", { conversationId: id }),
    says("deleteForGood", { conversationId: id }),
    says("listFacts", {}),
    says("fact", { action: v.picklist(["verify", "update", "forget", "restore", "pin", "unpin", "ask"]), factId: number, folderUri: line }),
    says("addFact", {}),
    /** `line`: counted from 0. */
    says("openPlace", { uri: line, line: v.exactOptional(number) }),
    says("startServer", {}),
    says("showLog", {}),
]);
export type FromView = v.InferOutput<typeof fromView>;

const livePart = v.variant("type", [
    v.object({ type: v.literal("text"), text: v.string() }),
    v.object({ type: v.literal("thinking"), text: v.string() }),
    v.object({
        type: v.literal("tool"),
        callId: v.string(),
        name: v.string(),
        arguments: v.string(),
        /** The newest of what it wrote so far. */
        output: v.exactOptional(v.string()),
        result: v.exactOptional(v.string()),
        isError: v.exactOptional(v.boolean()),
        isRunning: v.boolean(),
    }),
    v.object({ type: v.literal("error"), text: v.string() }),
]);
export type LivePart = v.InferOutput<typeof livePart>;

const live = v.object({
    /** Absent until the server has admitted the turn. */
    turnId: v.exactOptional(v.string()),
    /** What the user said, as long as it is not among the messages. */
    question: v.exactOptional(v.string()),
    /** Messages from this one on are shown by the parts, and not a second time. */
    fromMessage: number,
    /** The last delta that is in the parts; -1 before the first. */
    seq: v.pipe(v.number(), v.integer()),
    parts: v.array(livePart),
    /** The service could not answer, and is asked again after this; `seq` tells one from the next. */
    pause: v.exactOptional(v.object({ seq: v.number(), reason: v.string(), ms: number, nFailed: number })),
});
export type Live = v.InferOutput<typeof live>;

/** From the host to the panel. */
export const fromHost = v.variant("type", [
    v.object({ type: v.literal("server"), phase: v.picklist(["starting", "ready", "stopped"]), sentence: v.string(), needsPython: v.exactOptional(v.boolean()) }),
    /** Whether a model is set up that answers in words. */
    v.object({ type: v.literal("models"), isSetUp: v.boolean(), /** That new conversations have, where it answers in words. */ default: v.exactOptional(v.string()) }),
    /** What the editor around shows: the path of the open file in its folder, and how many errors language tools report. */
    v.object({ type: v.literal("around"), file: v.exactOptional(v.string()), errors: number }),
    v.object({ type: v.literal("conversations"), items: v.array(w.conversation) }),
    v.object({ type: v.literal("hits"), query: v.string(), hits: v.array(w.hit) }),
    v.object({
        type: v.literal("opened"),
        /** Absent: a conversation that begins with the first message. */
        conversation: v.exactOptional(w.conversation),
        /** One more than the last message's id. */
        total: number,
        messages: v.array(w.message),
        showMessage: v.exactOptional(number),
        /** What is typed of the first message of a conversation that does not exist yet. */
        draft: v.exactOptional(v.string()),
    }),
    v.object({ type: v.literal("page"), conversationId: v.string(), total: number, messages: v.array(w.message) }),
    v.object({ type: v.literal("conversation"), conversation: w.conversation }),
    v.object({ type: v.literal("live"), live: v.exactOptional(live) }),
    v.object({ type: v.literal("deltas"), deltas: v.array(w.delta) }),
    v.object({ type: v.literal("ended"), status: w.turnStatus, stopReason: v.exactOptional(v.string()), turnId: v.string() }),
    v.object({
        type: v.literal("failed"),
        sentence: v.string(),
        turnId: v.exactOptional(v.string()),
        isRetryable: v.boolean(),
        /** The kind of the error, as the server names it. */
        kind: v.exactOptional(v.string()),
        /** What was refused here and can be sent in a fork at once. */
        forFork: v.exactOptional(v.string()),
    }),
    v.object({ type: v.literal("hub"), status: w.hubStatus }),
    /** Without a plan: it was carried out. */
    v.object({ type: v.literal("sharePlan"), conversationId: v.string(), plan: v.exactOptional(w.sharePlan) }),
    v.object({ type: v.literal("shared"), team: v.string(), items: v.array(w.sharedHeader) }),
    v.object({ type: v.literal("readers"), conversationId: v.string(), members: v.array(w.member), stores: v.array(w.store), headSeq: number, /** Whether somebody asked for it. */ isAsked: v.boolean() }),
    v.object({ type: v.literal("presence"), conversationId: v.string(), writer: v.exactOptional(w.writer) }),
    v.object({ type: v.literal("usage"), usage: w.usage }),
    v.object({ type: v.literal("chips"), chips: v.array(chip) }),
    /** A picture was taken, and is among the chips. */
    v.object({ type: v.literal("attached") }),
    /** A picture of a message, as a data URL; none where its bytes are not on this machine. */
    v.object({ type: v.literal("picture"), digest: v.string(), url: v.exactOptional(v.string()) }),
    v.object({ type: v.literal("completions"), seq: number, start: number, items: v.array(w.mention) }),
    v.object({ type: v.literal("approval"), id, request: w.approval }),
    v.object({ type: v.literal("approvalGone"), id }),
    v.object({ type: v.literal("recovery"), turns: v.array(w.brokenAnswer) }),
    v.object({ type: v.literal("context"), plan: w.plan, stats: v.exactOptional(w.stats), usage: w.usage, events: v.array(contextEvent) }),
    /** `turnId`: the turn that was asked about. Without a conversation: of the folder alone. */
    v.object({ type: v.literal("costs"), conversationId: v.exactOptional(v.string()), turnId: v.exactOptional(v.string()), costs: w.costs }),
    /** The edits of files that were accepted in the open conversation, oldest first. */
    v.object({ type: v.literal("fileChanges"), items: v.array(w.fileChange) }),
    /** The summaries in the context of a conversation, the one of the oldest messages first. */
    v.object({ type: v.literal("summaries"), conversationId: v.string(), items: v.array(w.summary) }),
    v.object({ type: v.literal("facts"), folders: v.array(v.object({ uri: v.string(), name: v.string(), facts: v.array(w.fact) })) }),
    v.object({ type: v.literal("factCounts"), folderUri: v.string(), open: number, stale: number }),
    v.object({ type: v.literal("forgotten"), factId: number, folderUri: v.string(), isForgotten: v.boolean() }),
    /** What deleting a conversation would take. Without a plan: it is deleted. */
    v.object({ type: v.literal("deletion"), conversationId: v.string(), plan: v.exactOptional(w.purgePlan) }),
    v.object({ type: v.literal("progress"), text: v.string() }),
    v.object({ type: v.literal("reply"), command: v.string(), text: v.string() }),
    /** `about`: what it offers something for. It stays until something is chosen; others go with the next thing that is done. */
    v.object({ type: v.literal("notice"), level: v.picklist(["info", "warning", "error"]), text: v.string(), about: v.exactOptional(v.picklist(["budget"])) }),
    v.object({ type: v.literal("setDraft"), text: v.string() }),
    v.object({ type: v.literal("addDraft"), text: v.string() }),
    v.object({ type: v.literal("show"), page: v.picklist(["chat", "conversations", "context", "facts", "shared"]) }),
    v.object({ type: v.literal("focus") }),
]);
export type FromHost = v.InferOutput<typeof fromHost>;

/** Undefined for what is no message of a panel. */
export function readFromView(value: unknown): FromView | undefined {
    const read = v.safeParse(fromView, value);
    return read.success ? read.output : undefined;
}

/** Undefined for what is no message of the host. */
export function readFromHost(value: unknown): FromHost | undefined {
    const read = v.safeParse(fromHost, value);
    return read.success ? read.output : undefined;
}
