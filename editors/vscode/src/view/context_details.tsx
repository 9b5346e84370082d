/** What the conversation cost, and behind one link: how what was recalled was chosen, what summaries brought, and the context in words. */
import { describeCause } from "../causes";
import type { LeftOutBecause, PrepareContextResult, RecallLeftOut, RecallReport, RecallTaken, StatsResult } from "../protocol.gen";
import { CONTEXT } from "../texts";
import { counted, percent, short } from "./figures";
import { Progress } from "./progress";
import { Markdown } from "./text";
import { visible } from "./visible";

export function Cost({ stats }: { readonly stats: StatsResult }) {
    const { sent } = stats;
    if (sent === undefined) {
        return null;
    }
    const ofSummaries = stats.summaries.reduce((sum, each) => sum + each.inputTokens + each.outputTokens, 0);
    return (
        <section>
            <h2>{CONTEXT.cost}</h2>
            <dl class="facts-table" data-testid="cost">
                <div><dt>Sent</dt><dd>{short(sent.inputTokens)}<small>{counted(sent.requestCount, "request")}</small></dd></div>
                <div><dt>From cache</dt><dd>{percent(sent.cachedTokens, sent.inputTokens)}<small>of the tokens sent</small></dd></div>
                <div><dt>Answers</dt><dd>{short(sent.outputTokens)}<small>tokens written</small></dd></div>
                <div><dt>Summaries</dt><dd>{short(ofSummaries)}<small>{ofSummaries === 0 ? "written without a model" : "tokens to write them"}</small></dd></div>
            </dl>
        </section>
    );
}

export function Details({ plan, stats, progress }: { readonly plan: PrepareContextResult; readonly stats: StatsResult | undefined; readonly progress: string }) {
    return (
        <section class="full more-details">
            <Progress text={progress} />
            <details data-testid="context-details">
                <summary class="text-btn">{CONTEXT.details}</summary>
                <Recalled title="Recalled for the newest turn" report={plan.recall} />
                <Recalled title="Recalled for the newest step" report={plan.stepNote} />
                {stats !== undefined && <Effects stats={stats} />}
                {plan.page !== undefined && (
                    <details data-testid="context-page">
                        <summary>The context in words</summary>
                        <div class="say"><Markdown text={plan.page} /></div>
                    </details>
                )}
            </details>
        </section>
    );
}

const times = (n: number): string => (n === 1 ? "once" : `${n} times`);

function Effects({ stats }: { readonly stats: StatsResult }) {
    return (
        <ul class="stats" aria-label="Effects of summarizing">
            {stats.compactions.map((each) => <li key={each.cause}>Made smaller because {visible(describeCause(each.cause))}: {times(each.count)}</li>)}
            {stats.strategies.map((each) => <li key={each.strategy}>{each.strategy}: {times(each.timesFired)}, {counted(each.tokensSaved, "token")} saved</li>)}
            {stats.summaries.map((each) => <li key={each.kind}>{counted(each.count, "summary", "summaries")} ({each.kind}) took {counted(each.inputTokens + each.outputTokens, "token")} and {(each.durationMs / 1000).toFixed(1)} s</li>)}
            {stats.compactions.length === 0 && <li>Nothing has been summarized yet.</li>}
        </ul>
    );
}

const REASONS: Record<LeftOutBecause, string> = {
    told: "the context tells it already",
    noRoom: "no room",
    belowBar: "too little to do with it, or too little new",
};

/** What a search looked for, what it took, and why it left the rest out. */
function Recalled({ title, report }: { readonly title: string; readonly report: RecallReport | undefined }) {
    if (report === undefined || report.terms.length === 0) {
        return null;
    }
    return (
        <details data-testid="recalled">
            <summary>{title}: {report.tokens.toLocaleString("en")} of {counted(report.roomTokens, "token")}</summary>
            <p>Looked for: {visible(report.terms.join(", "))}</p>
            <ul>
                {report.taken.map((each, index) => <li key={index}>Told: {describeFound(each)}, {counted(each.tokens, "token")}</li>)}
                {report.leftOut.map((each, index) => <li key={index}>Left out: {describeFound(each)}, {REASONS[each.because]}</li>)}
            </ul>
        </details>
    );
}

const describeFound = ({ messageId, factId, score }: RecallLeftOut | RecallTaken): string =>
    `${messageId === undefined ? `fact ${factId}` : `message ${messageId}`} (score ${score.toFixed(2)})`;
