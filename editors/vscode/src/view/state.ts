/** Everything the panel shows, and how each message of the host changes it. No DOM, no time. */
import { describeWriter } from "../hub";
import { applyDelta } from "../live";
import type { Chip, ContextEventLine, FromHost, Live } from "../messages";
import type {
    ApprovalRequestParams,
    BrokenAnswer,
    ContextUsage,
    Costs,
    CostsResult,
    ConversationInfo,
    FileChange,
    HubStatus,
    MemberInfo,
    MentionItem,
    MessageInfo,
    PrepareContextResult,
    SearchHit,
    SharedHeader,
    ShareResult,
    StatsResult,
    StoreInfo,
    WriterInfo,
} from "../protocol.gen";
import { SAID } from "../texts";
import { NO_MEMORY, opened, reduceMemory, type LocalMemory, type Memory } from "./memory";

export type Page = "chat" | "conversations" | "context" | "facts" | "shared";

export interface Approval {
    readonly id: string;
    readonly request: ApprovalRequestParams;
}

export interface Failure {
    /** The kind of the error, as the server names it. */
    readonly kind?: string | undefined;
    readonly sentence: string;
    readonly turnId?: string | undefined;
    readonly isRetryable: boolean;
    readonly forFork?: string | undefined;
}

export interface State {
    readonly page: Page;
    readonly server: { readonly phase: "starting" | "ready" | "stopped"; readonly sentence: string; readonly needsPython?: boolean | undefined };
    /** Whether a model is set up that answers in words; undefined until that is known. */
    readonly hasModel?: boolean | undefined;
    /** The model of new conversations, where it answers in words. */
    readonly defaultModel?: string | undefined;
    readonly around: { readonly file?: string | undefined; readonly errors: number };
    readonly conversations: readonly ConversationInfo[];
    readonly search: { readonly query: string; readonly hits: readonly SearchHit[] };
    readonly conversation?: ConversationInfo | undefined;
    /** Messages that were read, by their ids; others are asked for when they come into sight. */
    readonly messages: ReadonlyMap<number, MessageInfo>;
    readonly total: number;
    /** A message to scroll to, such as a search hit. */
    readonly showMessage?: number | undefined;
    readonly live?: Live | undefined;
    /** The turn that ended last, for retry and continue. */
    readonly ended?: { readonly turnId: string; readonly status: string; readonly stopReason?: string | undefined } | undefined;
    readonly failure?: Failure | undefined;
    readonly usage?: ContextUsage | undefined;
    readonly chips: readonly Chip[];
    /** How many pictures were pasted or dropped that the host does not have yet. */
    readonly reading: number;
    readonly completion: { readonly seq: number; readonly start: number; readonly items: readonly MentionItem[] };
    readonly approvals: readonly Approval[];
    readonly recovery: readonly BrokenAnswer[];
    readonly context?:
        | { readonly plan: PrepareContextResult; readonly stats?: StatsResult | undefined; readonly usage: ContextUsage; readonly events: readonly ContextEventLine[] }
        | undefined;
    /** What models cost: the open conversation, and the folder. */
    readonly costs?: CostsResult | undefined;
    /** What turns of the open conversation cost, as far as it was asked. */
    readonly turnCosts: ReadonlyMap<string, Costs>;
    /** The edits of files that were accepted in it. */
    readonly fileChanges: readonly FileChange[];
    /** Summaries, facts, and a deletion that waits. */
    readonly memory: Memory;
    /** How the way to the hub is. */
    readonly hub?: HubStatus | undefined;
    /** What sharing the open conversation would mean. */
    readonly sharePlan?: { readonly conversationId: string; readonly plan: ShareResult } | undefined;
    /** What the team shares. */
    readonly shared?: { readonly team: string; readonly items: readonly SharedHeader[] } | undefined;
    /** Who reads the open conversation. */
    readonly readers?: { readonly conversationId: string; readonly members: readonly MemberInfo[]; readonly stores: readonly StoreInfo[]; readonly headSeq: number; readonly isAsked: boolean } | undefined;
    readonly progress: string;
    readonly reply?: { readonly command: string; readonly text: string } | undefined;
    readonly notice?: { readonly level: "info" | "warning" | "error"; readonly text: string; readonly about?: "budget" | undefined } | undefined;
    /** Said to screen readers. */
    readonly announcement: string;
    /** Grows each time the host puts a text into the composer. */
    readonly draft: { readonly n: number; readonly text: string; readonly isBehind?: true };
    /** Grows each time the composer is to be focused. */
    readonly focus: number;
}

export const INITIAL: State = {
    page: "chat",
    server: { phase: "starting", sentence: "" },
    conversations: [],
    search: { query: "", hits: [] },
    messages: new Map(),
    total: 0,
    chips: [],
    reading: 0,
    completion: { seq: 0, start: 0, items: [] },
    approvals: [],
    recovery: [],
    fileChanges: [],
    memory: NO_MEMORY,
    around: { errors: 0 },
    turnCosts: new Map(),
    progress: "",
    announcement: "",
    draft: { n: 0, text: "" },
    focus: 0,
};

/** What the panel does by itself. */
export type Local = LocalMemory | { readonly type: "showMessage"; readonly messageId: number; readonly tab: "summary" | "originals" } | { readonly type: "goTo"; readonly page: Page } | { readonly type: "closeCompletion" } | { readonly type: "reading"; readonly n: number } | /** Something could not be done. */ { readonly type: "note"; readonly text: string } | /** Something was done. */ { readonly type: "acted" } | { readonly type: "dismiss"; readonly what: "notice" | "reply" | "failure" | "sharePlan" | "readers" };

/** Messages further than that from those last read are forgotten; they can be read again. */
const KEPT = 2_000;

export function reduce(state: State, message: FromHost | Local): State {
    switch (message.type) {
        case "around":
            return message.file === state.around.file && message.errors === state.around.errors ? state : { ...state, around: { file: message.file, errors: message.errors } };
        case "models":
            return { ...state, hasModel: message.isSetUp, defaultModel: message.default };
        case "server":
            return { ...state, server: { phase: message.phase, sentence: message.sentence, needsPython: message.needsPython }, announcement: message.phase === "ready" ? state.announcement : message.sentence };
        case "conversations":
            return { ...state, conversations: message.items };
        case "hits":
            return { ...state, search: { query: message.query, hits: message.hits } };
        case "opened": {
            const isSame = state.conversation?.conversationId === message.conversation?.conversationId;
            return {
                ...state,
                page: "chat",
                conversation: message.conversation,
                total: message.total,
                messages: keyed(message.messages),
                fileChanges: isSame ? state.fileChanges : [],
                showMessage: message.showMessage,
                live: undefined,
                ended: lastTurn(message.messages),
                failure: undefined,
                usage: isSame ? state.usage : undefined,
                context: undefined,
                costs: isSame ? state.costs : undefined,
                turnCosts: isSame ? state.turnCosts : new Map(),
                memory: { ...state.memory, summaries: isSame ? state.memory.summaries : [], openLayers: isSame ? state.memory.openLayers : new Map() },
                reply: undefined,
                sharePlan: undefined,
                readers: isSame ? state.readers : undefined,
                progress: "",
                // A panel that is shown anew has no draft yet, whatever it shows.
                draft: isSame && state.draft.n > 0 ? state.draft : { n: state.draft.n + 1, text: message.conversation?.draft ?? message.draft ?? "" },
            };
        }
        case "page":
            return message.conversationId === state.conversation?.conversationId
                ? { ...state, total: message.total, messages: forget(new Map([...state.messages, ...keyed(message.messages)]), message.messages) }
                : state;
        case "conversation":
            return {
                ...state,
                conversations: state.conversations.map((each) => (each.conversationId === message.conversation.conversationId ? message.conversation : each)),
                conversation: state.conversation === undefined || state.conversation.conversationId === message.conversation.conversationId ? message.conversation : state.conversation,
            };
        case "live":
            return { ...state, live: message.live, failure: message.live === undefined ? state.failure : undefined, announcement: message.live === undefined ? state.announcement : SAID.coming };
        case "deltas":
            return state.live === undefined ? state : { ...state, live: message.deltas.reduce(applyDelta, state.live) };
        case "costs": {
            if (message.conversationId !== state.conversation?.conversationId) {
                return state;
            }
            const { turnId, costs } = message;
            return { ...state, costs, turnCosts: turnId === undefined || costs.turn === undefined ? state.turnCosts : new Map([...state.turnCosts, [turnId, costs.turn]]) };
        }
        case "ended":
            // What was known of its cost was of its part so far.
            return { ...state, turnCosts: new Map([...state.turnCosts].filter(([turnId]) => turnId !== message.turnId)), live: undefined, progress: "", ended: message, announcement: describeEnd(state, message.status) };
        case "failed":
            return { ...state, live: undefined, progress: "", failure: message, announcement: message.sentence };
        case "usage":
            return { ...state, usage: message.usage };
        case "chips":
            return { ...state, chips: message.chips };
        case "reading":
            return { ...state, reading: state.reading + message.n };
        case "attached":
            return { ...state, reading: Math.max(0, state.reading - 1) };
        case "note":
            return { ...state, notice: { level: "warning", text: message.text }, announcement: message.text };
        case "picture":
            return state; // it is shown by the picture itself
        case "completions":
            return message.seq >= state.completion.seq ? { ...state, completion: message } : state;
        case "approval":
            return {
                ...state,
                approvals: [...state.approvals.filter((each) => each.id !== message.id), { id: message.id, request: message.request }],
                announcement: SAID.question(message.request.title),
            };
        case "approvalGone":
            return { ...state, approvals: state.approvals.filter((each) => each.id !== message.id) };
        case "recovery":
            return { ...state, recovery: message.turns };
        case "context":
            return { ...state, context: message, usage: message.usage };
        case "fileChanges":
            return { ...state, fileChanges: message.items };
        case "progress":
            return { ...state, progress: message.text, announcement: message.text === "" ? state.announcement : message.text };
        case "reply":
            return { ...state, reply: message, announcement: SAID.replied };
        case "notice":
            return { ...state, notice: message, announcement: message.text };
        case "setDraft":
            return { ...state, draft: { n: state.draft.n + 1, text: message.text } };
        case "addDraft":
            return { ...state, page: "chat", draft: { n: state.draft.n + 1, text: message.text, isBehind: true } };
        case "show":
            return { ...state, page: message.page };
        case "focus":
            return { ...state, page: "chat", focus: state.focus + 1 };
        case "showMessage":
            return { ...state, page: "chat", showMessage: message.messageId, memory: opened(state.memory, message.messageId, message.tab) };
        case "goTo":
            return { ...told(state), page: message.page };
        case "acted":
            return told(state);
        case "closeCompletion":
            return { ...state, completion: { ...state.completion, items: [] } };
        case "summaries":
        case "facts":
        case "factCounts":
        case "forgotten":
        case "deletion":
        case "layer":
        case "hideStale":
        case "cancelDeletion":
            return { ...state, memory: reduceMemory(state.memory, message, { id: state.conversation?.conversationId, showMessage: state.showMessage }) };
        case "hub":
            return { ...state, hub: message.status };
        case "sharePlan": {
            const { plan, conversationId } = message;
            if (plan === undefined || conversationId !== state.conversation?.conversationId) {
                return { ...state, sharePlan: undefined };
            }
            return { ...state, page: "chat", sharePlan: { conversationId, plan }, announcement: SAID.sharePlan };
        }
        case "shared":
            return { ...state, page: "shared", shared: message, notice: undefined };
        case "readers":
            return message.conversationId === state.conversation?.conversationId ? { ...state, readers: { ...message, isAsked: message.isAsked || state.readers?.isAsked === true } } : state;
        case "presence": {
            const written = (each: ConversationInfo) => (each.conversationId === message.conversationId ? withWriter(each, message.writer) : each);
            const conversation = state.conversation === undefined ? undefined : written(state.conversation);
            const isHere = conversation !== state.conversation && message.writer !== undefined;
            return { ...state, conversation, conversations: state.conversations.map(written), announcement: isHere && message.writer !== undefined ? describeWriter(message.writer) : state.announcement };
        }
        case "dismiss":
            if (message.what === "readers") {
                return { ...state, readers: state.readers === undefined ? undefined : { ...state.readers, isAsked: false } };
            }
            return { ...state, [message.what]: undefined };
    }
}

/** Without a notice that was there to be read: one that offers something stays until that is chosen. */
function told(state: State): State {
    return state.notice === undefined || state.notice.about !== undefined ? state : { ...state, notice: undefined };
}

/** Whether a message's row is empty, because the running answer shows it. */
export function isShownLive(state: State, message: MessageInfo): boolean {
    return state.live !== undefined && message.id >= state.live.fromMessage && message.turnId !== undefined && message.turnId === state.live.turnId && message.role !== "user";
}

/** The turn that ended last, when it ended well: it can be asked again. */
export function wholeEnd(state: State): string | undefined {
    const { ended } = state;
    const isWhole = state.live === undefined && state.failure === undefined && ended?.status === "committed" && ended.stopReason !== "output_limit" && ended.stopReason !== "tool_rounds";
    return isWhole && state.recovery.every((each) => each.turnId !== ended.turnId) ? ended.turnId : undefined;
}

function withWriter(each: ConversationInfo, writer: WriterInfo | undefined): ConversationInfo {
    if (each.shared === undefined) {
        return each;
    }
    const shared = { ...each.shared };
    delete shared.writer;
    return { ...each, shared: writer === undefined ? shared : { ...shared, writer } };
}

function keyed(messages: readonly MessageInfo[]): Map<number, MessageInfo> {
    return new Map(messages.map((each) => [each.id, each]));
}

function forget(messages: Map<number, MessageInfo>, near: readonly MessageInfo[]): Map<number, MessageInfo> {
    const centre = near[0]?.id;
    if (centre !== undefined && messages.size > KEPT) {
        for (const id of messages.keys()) {
            if (Math.abs(id - centre) > KEPT / 2) {
                messages.delete(id);
            }
        }
    }
    return messages;
}

function lastTurn(messages: readonly MessageInfo[]): State["ended"] {
    const last = messages.findLast((each) => !each.isHidden);
    return last?.turnId === undefined ? undefined : { turnId: last.turnId, status: last.state === "complete" ? "committed" : last.state };
}

const READ_OUT = 600;

function describeEnd(state: State, status: string): string {
    const said = (state.live?.parts ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
    const how = status === "committed" ? SAID.complete : (SAID.ended[status] ?? SAID.complete);
    return `${how} ${said.length > READ_OUT ? `${said.slice(0, READ_OUT)} …` : said}`.trim();
}
