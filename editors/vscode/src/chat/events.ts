/** What happened to a context, as a line of the time line. */
import type { ContextEventLine } from "../messages";
import type { ContextEvent } from "../protocol.gen";
import { MOMENTS } from "../texts";
import { counted } from "../view/figures";

/** Undefined for what is only progress, and for compactions, which are stored. */
export function describeEvent(event: ContextEvent): ContextEventLine | undefined {
    const at = event.timestamp;
    const saved = event.tokensSaved !== undefined && event.tokensSaved > 0 ? MOMENTS.saved(event.tokensSaved.toLocaleString("en")) : "";
    const strategy = MOMENTS.strategies[event.strategy ?? ""] ?? event.strategy ?? "";
    const needs = event.projectedTokens === undefined ? "" : MOMENTS.needs(event.projectedTokens.toLocaleString("en"), (event.limitTokens ?? 0).toLocaleString("en"));
    const line = (what: string, ...details: string[]) => ({ at, what, detail: details.filter((each) => each !== "").join(", ") });
    switch (event.type) {
        case "context_summarization_start":
        case "context_summarization_progress":
        case "context_compaction":
            return undefined;
        case "context_summarization_complete":
            return line(event.totalItems === undefined ? MOMENTS.madeSmaller : MOMENTS.summaryWritten, strategy, saved);
        case "context_summarization_error":
            return line(MOMENTS.notSummarized, strategy, event.error ?? "");
        case "context_summarization_fallback":
            return line(MOMENTS.withoutModel, event.error ?? "");
        case "context_not_recalled":
            return line(MOMENTS.noRoom, needs);
        case "context_left_out":
            return line(MOMENTS.leftOut, saved);
        case "context_rules_cap":
            return line(MOMENTS.tooManyRules, MOMENTS.rulesLeft((event.rules?.length ?? 0).toLocaleString("en")));
        case "context_budget":
            return line(MOMENTS.budget, event.error ?? "");
        case "context_guard":
            return line(MOMENTS.didNotFit, MOMENTS.outcomes[event.outcome ?? ""] ?? event.outcome ?? "", needs);
    }
}

/** How far a summary is; undefined for what is no progress. */
export function describeProgress(event: ContextEvent): string | undefined {
    if (event.type !== "context_summarization_start" && event.type !== "context_summarization_progress") {
        return undefined;
    }
    return event.totalItems === undefined ? undefined : MOMENTS.progress(counted(event.totalItems, MOMENTS.message), event.itemsProcessed ?? 0);
}
