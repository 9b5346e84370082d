/** Behind one link: how what was recalled was chosen, what summaries brought, and the context in words. */
import type { PrepareContextResult, RecallLeftOut, RecallReport, RecallTaken, StatsResult } from "../protocol.gen";
import { CONTEXT, DETAILS, MOMENTS } from "../texts";
import { capital, counted } from "./figures";
import { Progress } from "./progress";
import { Markdown } from "./text";
import { visible } from "./visible";

export function Details({ plan, stats, progress }: { readonly plan: PrepareContextResult; readonly stats: StatsResult | undefined; readonly progress: string }) {
    return (
        <section class="full more-details">
            <Progress text={progress} />
            <details data-testid="context-details">
                <summary class="text-btn">{CONTEXT.details}</summary>
                <Recalled title={DETAILS.recalledForMessage} report={plan.recall} />
                <Recalled title={DETAILS.recalledForRequest} report={plan.stepNote} />
                {stats !== undefined && <Effects stats={stats} />}
                {plan.page !== undefined && (
                    <details data-testid="context-page">
                        <summary>{DETAILS.inWords}</summary>
                        <div class="say"><Markdown text={plan.page} /></div>
                    </details>
                )}
            </details>
        </section>
    );
}

const times = (n: number): string => (n === 1 ? DETAILS.once : DETAILS.times(n));

function Effects({ stats }: { readonly stats: StatsResult }) {
    return (
        <ul class="stats" aria-label={DETAILS.effects}>
            {stats.compactions.map((each) => <li key={each.cause}>{DETAILS.smallerBecause(visible(DETAILS.causes[each.cause] ?? each.cause), times(each.count))}</li>)}
            {stats.strategies.map((each) => <li key={each.strategy}>{DETAILS.strategy(capital(visible(MOMENTS.strategies[each.strategy] ?? each.strategy)), times(each.timesFired), counted(each.tokensSaved, "token"))}</li>)}
            {stats.summaries.map((each) => <li key={each.kind}>{DETAILS.written(counted(each.count, "summary", "summaries"), DETAILS.hows[each.kind] ?? `(${visible(each.kind)})`, counted(each.inputTokens + each.outputTokens, "token"), (each.durationMs / 1000).toFixed(1))}</li>)}
            {stats.compactions.length === 0 && <li>{DETAILS.noneYet}</li>}
        </ul>
    );
}

/** What a search looked for, what it took, and why it left the rest out. */
function Recalled({ title, report }: { readonly title: string; readonly report: RecallReport | undefined }) {
    if (report === undefined || report.terms.length === 0) {
        return null;
    }
    return (
        <details data-testid="recalled">
            <summary>{DETAILS.found(title, report.tokens.toLocaleString("en"), counted(report.roomTokens, "token"))}</summary>
            <p>{DETAILS.lookedFor} {visible(report.terms.join(", "))}</p>
            <ul>
                {report.taken.map((each, index) => <li key={index}>{DETAILS.added} {describeFound(each)}, {counted(each.tokens, "token")}</li>)}
                {report.leftOut.map((each, index) => <li key={index}>{DETAILS.leftOut} {describeFound(each)}, {DETAILS.because[each.because]}</li>)}
            </ul>
        </details>
    );
}

const describeFound = ({ messageId, factId, score }: RecallLeftOut | RecallTaken): string =>
    `${messageId === undefined ? DETAILS.fact(factId ?? 0) : DETAILS.message(messageId)} ${DETAILS.score(score.toFixed(2))}`;
