/**
 * The structures of the protocol that go to the panel, as checks. The compiler proves each against the generated type:
 * a field that is missing, misspelt or of another type here does not compile. Fields nobody here knows are dropped.
 */
import * as v from "valibot";

import type * as p from "./protocol.gen";

const count = v.pipe(v.number(), v.integer());
const text = v.string();

/** Accepts a check of exactly the type `T`, with all its fields. */
const shape =
    <T>() =>
    <S extends v.GenericSchema<unknown, T>>(schema: S & ([keyof T] extends [keyof v.InferOutput<S>] ? unknown : never)): v.GenericSchema<unknown, T> =>
        schema;

export const range = shape<p.MessageRange>()(v.object({ start: count, end: count }));
const counting = v.picklist(["exact", "estimated", "bytes"]);
const status = v.picklist(["ready", "needsSummarization", "recentMessagesTooLarge"]);
const limitsSource = v.picklist(["override", "provider", "live", "prefix", "learned", "default_fallback"]);
const role = v.picklist(["user", "assistant", "tool"]);
const turnStatus = v.picklist(["running", "committed", "cancelled", "errored", "interrupted"]);

export const usage = shape<p.ContextUsage>()(
    v.object({
        usedTokens: count,
        budgetTokens: count,
        wallTokens: count,
        percentage: v.number(),
        severity: v.picklist(["green", "yellow", "red"]),
        compact: text,
        model: text,
        provider: text,
        windowTokens: count,
        reserveTokens: count,
        limitsSource,
        counting,
        messageCount: count,
        summaryCount: count,
        byKind: v.array(v.object({ kind: text, tokens: count })),
        status,
        lastSummaryAt: v.exactOptional(text),
    }),
);

export const writer = shape<p.WriterInfo>()(
    v.object({ name: text, isSelf: v.boolean(), work: text, turnId: v.exactOptional(text) }),
);

const shared = shape<p.SharedInfo>()(
    v.object({
        teamId: text,
        state: v.picklist(["current", "behind", "apart", "detached"]),
        team: v.exactOptional(text),
        role: v.exactOptional(text),
        writer: v.exactOptional(writer),
    }),
);

export const conversation = shape<p.ConversationInfo>()(
    v.object({
        conversationId: text,
        title: text,
        model: text,
        messageCount: count,
        createdAt: text,
        updatedAt: text,
        folder: text,
        isArchived: v.boolean(),
        draft: text,
        runningTurnId: v.exactOptional(text),
        parentId: v.exactOptional(text),
        layout: v.exactOptional(v.picklist(["log", "librarian"])),
        shared: v.exactOptional(shared),
    }),
);

const part = shape<p.MessagePart>()(
    v.object({
        type: text,
        text: v.exactOptional(text),
        callId: v.exactOptional(text),
        name: v.exactOptional(text),
        arguments: v.exactOptional(text),
        isError: v.exactOptional(v.boolean()),
        digest: v.exactOptional(text),
    }),
);

export const message = shape<p.MessageInfo>()(
    v.object({
        id: count,
        role,
        text,
        parts: v.array(part),
        state: v.picklist(["complete", "cancelled", "errored", "interrupted"]),
        createdAt: text,
        digest: text,
        notes: v.array(text),
        isHidden: v.boolean(),
        turnId: v.exactOptional(text),
        isPurged: v.exactOptional(v.boolean()),
        author: v.exactOptional(text),
    }),
);

export const delta = shape<p.TurnDelta>()(
    v.object({
        seq: count,
        type: v.picklist(["turn", "pause", "text", "thinking", "toolCall", "toolArguments", "toolStart", "toolOutput", "toolResult", "done", "error"]),
        text: v.exactOptional(text),
        callId: v.exactOptional(text),
        name: v.exactOptional(text),
        turnId: v.exactOptional(text),
        conversationId: v.exactOptional(text),
        userMessageId: v.exactOptional(count),
        isError: v.exactOptional(v.boolean()),
        retryAfterMs: v.exactOptional(count),
        nFailed: v.exactOptional(count),
    }),
);

export const hit = shape<p.SearchHit>()(
    v.object({ conversationId: text, title: text, messageId: count, role, snippet: text, createdAt: text, isHidden: v.boolean() }),
);

export const mention = shape<p.MentionItem>()(
    v.object({
        kind: v.picklist(["file", "folder", "command", "resource"]),
        label: text,
        insertText: text,
        detail: text,
        path: v.exactOptional(text),
    }),
);

export const approval = shape<p.ApprovalRequestParams>()(
    v.object({ conversationId: text, turnId: text, tool: text, title: text, shown: text, covers: text, mayBeAlways: v.boolean() }),
);

export const brokenAnswer = shape<p.BrokenAnswer>()(
    v.object({
        conversationId: text,
        title: text,
        turnId: text,
        userMessageId: count,
        class: v.picklist(["complete", "errored", "incomplete"]),
        text,
        textLength: count,
        lastSeq: count,
        model: text,
        endedAt: text,
        errorKind: v.exactOptional(text),
        errorMessage: v.exactOptional(text),
        toolBatch: v.exactOptional(
            v.array(
                v.object({
                    callId: text,
                    name: text,
                    arguments: text,
                    fate: v.picklist(["finished", "notRun", "unknown"]),
                    result: v.exactOptional(text),
                }),
            ),
        ),
    }),
);

export const model = shape<p.ModelInfo>()(
    v.object({
        name: text,
        provider: text,
        windowTokens: count,
        maxOutputTokens: count,
        budgetTokens: count,
        limitsSource,
        isAvailable: v.boolean(),
        isDefault: v.boolean(),
        hint: v.exactOptional(text),
    }),
);

const found = { score: v.number(), messageId: v.exactOptional(count), factId: v.exactOptional(count) };
const recall = shape<p.RecallReport>()(
    v.object({
        terms: v.array(text),
        roomTokens: count,
        tokens: count,
        taken: v.array(v.object({ ...found, tokens: count })),
        leftOut: v.array(v.object({ ...found, because: v.picklist(["told", "noRoom", "belowBar"]) })),
    }),
);

export const plan = shape<p.PrepareContextResult>()(
    v.object({
        status,
        model: text,
        usedTokens: count,
        upperTokens: count,
        limitTokens: count,
        segments: v.array(
            v.object({
                type: text,
                tokens: count,
                reason: text,
                certainty: counting,
                isInPrefix: v.boolean(),
                messages: v.exactOptional(range),
                summaryId: v.exactOptional(count),
                role: v.exactOptional(role),
                excerpt: v.exactOptional(text),
                itemCount: v.exactOptional(count),
                originalTokens: v.exactOptional(count),
            }),
        ),
        wouldSummarize: v.array(range),
        excessTokens: v.exactOptional(count),
        messageIds: v.exactOptional(v.array(count)),
        suggestion: v.exactOptional(text),
        requiredTokens: v.exactOptional(count),
        messageCount: v.exactOptional(count),
        recall: v.exactOptional(recall),
        stepNote: v.exactOptional(recall),
        summarizeAtTokens: v.exactOptional(count),
        page: v.exactOptional(text),
    }),
);

export const stats = shape<p.StatsResult>()(
    v.object({
        strategies: v.array(v.object({ strategy: text, timesFired: count, tokensSaved: count })),
        compactions: v.array(v.object({ cause: text, count })),
        durationMs: count,
        summaries: v.array(v.object({ kind: text, count, inputTokens: count, outputTokens: count, durationMs: count })),
        moments: v.array(
            v.object({ timestamp: text, tokens: count, cause: v.exactOptional(text), tokensBefore: v.exactOptional(count), cachedTokens: v.exactOptional(count), model: v.exactOptional(text) }),
        ),
        sent: v.exactOptional(v.object({ requestCount: count, inputTokens: count, cachedTokens: count, outputTokens: count })),
    }),
);

const sums = shape<p.Costs>()(
    v.object({
        dollars: v.number(),
        isPriced: v.boolean(),
        lines: v.array(
            v.object({
                purpose: text,
                provider: text,
                model: text,
                calls: count,
                estimatedCalls: count,
                inputTokens: count,
                cacheReadTokens: count,
                cacheWriteTokens: count,
                outputTokens: count,
                dollars: v.exactOptional(v.number()),
            }),
        ),
    }),
);

export const costs = shape<p.CostsResult>()(
    v.object({
        today: sums,
        month: sums,
        everywhereDollars: v.number(),
        pricesAsOf: text,
        conversation: v.exactOptional(sums),
        turn: v.exactOptional(sums),
        budgetDollars: v.exactOptional(v.number()),
    }),
);

export const summary = shape<p.SummaryInfo>()(
    v.object({ summaryId: count, messages: range, tokens: count, originalTokens: count, kind: text, text, createdAt: text }),
);

export const fact = shape<p.FactInfo>()(
    v.object({
        id: count,
        factType: v.picklist(["entity", "decision", "constraint", "codeState", "pinned"]),
        content: text,
        entities: v.array(text),
        sources: v.array(
            v.object({
                uri: text,
                path: text,
                condition: v.picklist(["fresh", "moved", "changed", "missing"]),
                startLine: v.exactOptional(count),
                endLine: v.exactOptional(count),
                symbol: v.exactOptional(text),
                was: v.exactOptional(text),
                now: v.exactOptional(text),
                nowLine: v.exactOptional(count),
            }),
        ),
        isStale: v.boolean(),
        turnNumber: count,
        createdAt: text,
        uses: count,
        shared: v.boolean(),
        conversationId: v.exactOptional(text),
        messageId: v.exactOptional(count),
        quote: v.exactOptional(text),
        closedAt: v.exactOptional(text),
        supersededBy: v.exactOptional(count),
        verifiedAt: v.exactOptional(text),
        author: v.exactOptional(text),
    }),
);

export const purgePlan = shape<p.PurgePlan>()(
    v.object({ messages: range, messageCount: count, summaryCount: count, factCount: count, alsoPurged: v.array(text) }),
);

export const hubStatus = shape<p.HubStatus>()(
    v.object({
        folder: text,
        state: v.picklist(["off", "connecting", "connected", "away", "refused", "newerNeeded"]),
        unsent: count,
        since: v.exactOptional(text),
        team: v.exactOptional(text),
        role: v.exactOptional(text),
        problem: v.exactOptional(text),
    }),
);

export const member = shape<p.MemberInfo>()(v.object({ name: text, role: text, isSelf: v.boolean() }));

export const store = shape<p.StoreInfo>()(
    v.object({ member: text, isThis: v.boolean(), appliedSeq: count, isFollowing: v.boolean(), seenAt: v.exactOptional(text) }),
);

export const sharePlan = shape<p.ShareResult>()(
    v.object({
        team: text,
        readers: v.array(member),
        messageCount: count,
        byteCount: count,
        resultByteCount: count,
        removals: v.array(v.object({ kind: text, messageIds: v.array(count) })),
        files: v.array(text),
        sharesToolResults: v.boolean(),
        isCopy: v.boolean(),
        conversation: v.exactOptional(conversation),
    }),
);

export const sharedHeader = shape<p.SharedHeader>()(
    v.object({
        conversationId: text,
        title: text,
        owner: text,
        messageCount: count,
        createdAt: text,
        isHere: v.boolean(),
        updatedAt: v.exactOptional(text),
        writer: v.exactOptional(writer),
    }),
);

export const fileChange = shape<p.FileChange>()(
    v.object({
        id: text,
        turnId: text,
        path: text,
        uri: text,
        kind: v.picklist(["created", "changed"]),
        added: count,
        removed: count,
        state: v.picklist(["applied", "takenBack", "unknown"]),
        canTakeBack: v.boolean(),
        at: text,
        reason: v.exactOptional(text),
    }),
);

export { turnStatus };
