/** What happened to a context, as a line of the time line. */
import type { ContextEventLine } from "../messages";
import type { ContextEvent } from "../protocol.gen";

/** Undefined for what is only progress, and for compactions, which are stored. */
export function describeEvent(event: ContextEvent): ContextEventLine | undefined {
    const at = event.timestamp;
    const saved = event.tokensSaved !== undefined && event.tokensSaved > 0 ? `${event.tokensSaved.toLocaleString("en")} tokens saved` : "";
    const line = (what: string, ...details: string[]) => ({ at, what, detail: details.filter((each) => each !== "").join(", ") });
    switch (event.type) {
        case "context_summarization_start":
        case "context_summarization_progress":
        case "context_compaction":
            return undefined;
        case "context_summarization_complete":
            return line(event.totalItems === undefined ? "Context made smaller" : "Summary written", event.strategy ?? "", saved);
        case "context_summarization_error":
            return line("Context unchanged", event.strategy ?? "", event.error ?? "");
        case "context_summarization_fallback":
            return line("Summary written without a model", event.error ?? "");
        case "context_not_recalled":
            return line("No room for recalled text", `${event.projectedTokens ?? 0} of ${event.limitTokens ?? 0} tokens`);
        case "context_left_out":
            return line("Oldest messages left out", saved);
        case "context_rules_cap":
            return line("Standing rules became ordinary text", `${event.rules?.length ?? 0} of them`);
        case "context_budget":
            return line("Most of the month's budget is spent", event.error ?? "");
        case "context_guard":
            return line("The guard stepped in", event.outcome ?? "", event.projectedTokens === undefined ? "" : `${event.projectedTokens} of ${event.limitTokens ?? 0} tokens`);
    }
}

/** How far a summary is; undefined for what is no progress. */
export function describeProgress(event: ContextEvent): string | undefined {
    if (event.type !== "context_summarization_start" && event.type !== "context_summarization_progress") {
        return undefined;
    }
    return event.totalItems === undefined ? undefined : `A summary of ${event.totalItems === 1 ? "1 message" : `${event.totalItems} messages`} is being written (${event.itemsProcessed ?? 0} done).`;
}
