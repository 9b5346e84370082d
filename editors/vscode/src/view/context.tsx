/** The model's window as a picture, and every segment of the next request with its reason. */
import { describeCause } from "../causes";
import type { ContextEventLine } from "../messages";
import type { ContextUsage, LeftOutBecause, MessageRange, RecallLeftOut, RecallReport, RecallTaken } from "../protocol.gen";
import { describeShare, nameOf, shares } from "./bar";
import { useEnds } from "./post";
import type { State } from "./state";
import { Markdown } from "./text";
import { visible } from "./visible";

const tokens = (n: number): string => n.toLocaleString("en");
const times = (n: number): string => (n === 1 ? "once" : `${n} times`);

export function WindowBar({ usage }: { readonly usage: ContextUsage }) {
    const { post } = useEnds();
    const all = shares(usage);
    return (
        <button type="button" class={`window-bar ${usage.severity}`} onClick={() => post({ type: "explain" })} aria-label={`Context ${usage.compact}. Explain`} title={all.map(describeShare).join("\n")} data-testid="window-bar" data-severity={usage.severity}>
            <span class="bar" aria-hidden="true">
                {all.map((share) => <span key={share.kind} class={`share kind-${share.kind}`} style={{ flexGrow: share.percent }} title={describeShare(share)} />)}
            </span>
            <span class="compact">{usage.compact}</span>
        </button>
    );
}

/** What is being done to the context at the moment; empty: nothing. */
export function Progress({ text }: { readonly text: string }) {
    return text === "" ? null : <p class="progress" data-testid="progress">{visible(text)}</p>;
}

export function Explain({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const context = state.context;
    if (context === undefined) {
        return <section class="page" aria-label="Context"><p class="state">The context is being explained.</p></section>;
    }
    const { plan, usage, stats, events } = context;
    return (
        <section class="page explain" aria-label="Context" data-testid="explain">
            <div class="tools">
                <button type="button" class="secondary" onClick={() => dispatch({ type: "goTo", page: "chat" })}>Back</button>
                <button type="button" onClick={() => post({ type: "summarize" })}>Summarize now</button>
                <button type="button" class="secondary" aria-label="Undo the last change of summaries" title="Undo the last change of summaries" onClick={() => post({ type: "undo" })}>Undo</button>
                <button type="button" class="secondary" aria-label="Redo the last change of summaries" title="Redo the last change of summaries" onClick={() => post({ type: "redo" })}>Redo</button>
            </div>
            <Progress text={state.progress} />
            <h2>What the next request holds</h2>
            <p>{tokens(plan.usedTokens)} tokens (at most {tokens(plan.upperTokens)}) of {tokens(plan.limitTokens)} for {visible(plan.model)}; counted: {usage.counting}, limits: {usage.limitsSource}.</p>
            {plan.suggestion !== undefined && <p class="state">{visible(plan.suggestion)}</p>}
            <table class="shares" aria-label="Shares of the window">
                <thead><tr><th scope="col">Share</th><th scope="col">Tokens</th><th scope="col">Of the window</th></tr></thead>
                <tbody>
                    {shares(usage).map((share) => (
                        <tr key={share.kind}><th scope="row"><span class={`swatch kind-${share.kind}`} aria-hidden="true" /> {nameOf(share.kind)}</th><td>{tokens(share.tokens)}</td><td>{share.percent.toFixed(1)} %</td></tr>
                    ))}
                </tbody>
            </table>
            <h3>Segments</h3>
            <ol class="segments" aria-label="Segments of the request">
                {plan.segments.map((segment, index) => (
                    <li key={index} class={`segment kind-${segment.type}`} data-testid="segment">
                        <strong>{nameOf(segment.type)}</strong>{" "}
                        <span class="detail">
                            {tokens(segment.tokens)} tokens{segment.messages === undefined ? "" : `, ${describeRange(segment.messages)}`}, {segment.isInPrefix ? "in the unchanged prefix" : "new since the last request"}
                        </span>
                        <span class="reason">{visible(segment.reason)}</span>
                        {segment.summaryId !== undefined && <SummaryButtons id={segment.summaryId} />}
                    </li>
                ))}
            </ol>
            <Recalled title="Recalled for the newest turn" report={plan.recall} />
            <Recalled title="Recalled for the newest step" report={plan.stepNote} />
            {plan.page !== undefined && (
                <details data-testid="context-page">
                    <summary>What the context says</summary>
                    <Markdown text={plan.page} />
                </details>
            )}
            {events.length > 0 && (
                <>
                    <h3>Time line</h3>
                    <ol class="timeline" aria-label="Requests, and changes of the context" data-testid="timeline">
                        {events.map((event, index) => <Moment key={index} event={event} budget={usage.budgetTokens} />)}
                    </ol>
                </>
            )}
            {stats !== undefined && (
                <>
                    <h3>In all</h3>
                    <ul class="stats" aria-label="Effects of summarizing">
                        {stats.compactions.map((each) => <li key={each.cause}>Compaction because {visible(describeCause(each.cause))}: {times(each.count)}</li>)}
                        {stats.strategies.map((each) => <li key={each.strategy}>{each.strategy}: {times(each.timesFired)}, {tokens(each.tokensSaved)} tokens saved</li>)}
                        {stats.summaries.map((each) => <li key={each.kind}>{each.count === 1 ? "1 summary" : `${each.count} summaries`} ({each.kind}) took {tokens(each.inputTokens + each.outputTokens)} tokens and {(each.durationMs / 1000).toFixed(1)} s</li>)}
                        {stats.compactions.length === 0 && <li>Nothing has been summarized yet.</li>}
                    </ul>
                </>
            )}
        </section>
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
            <summary>{title}: {tokens(report.tokens)} of {tokens(report.roomTokens)} tokens</summary>
            <p>Looked for: {visible(report.terms.join(", "))}</p>
            <ul>
                {report.taken.map((each, index) => <li key={index}>Told: {describeFound(each)}, {tokens(each.tokens)} tokens</li>)}
                {report.leftOut.map((each, index) => <li key={index}>Left out: {describeFound(each)}, {REASONS[each.because]}</li>)}
            </ul>
        </details>
    );
}

const describeFound = ({ messageId, factId, score }: RecallLeftOut | RecallTaken): string =>
    `${messageId === undefined ? `fact ${factId}` : `message ${messageId}`} (score ${score.toFixed(2)})`;

function Moment({ event, budget }: { readonly event: ContextEventLine; readonly budget: number }) {
    const at = new Date(event.at);
    const isToday = at.toDateString() === new Date().toDateString();
    return (
        <li>
            <time dateTime={event.at}>{isToday ? at.toLocaleTimeString() : at.toLocaleString()}</time> <strong>{event.what}</strong> <span class="detail">{visible(event.detail)}</span>
            {event.tokens !== undefined && <span class="use" aria-hidden="true"><span style={{ width: `${Math.min(100, (100 * event.tokens) / Math.max(1, budget))}%` }} /></span>}
        </li>
    );
}

function describeRange({ start, end }: MessageRange): string {
    return end - start === 1 ? `message ${start}` : `messages ${start} to ${end - 1}`;
}

function SummaryButtons({ id }: { readonly id: number }) {
    const { post } = useEnds();
    return (
        <span class="tools">
            <button type="button" class="small" aria-label={`Expand summary ${id}`} onClick={() => post({ type: "expand", summaryId: id })}>Expand</button>
            <button type="button" class="small" aria-label={`Write summary ${id} again`} onClick={() => post({ type: "regenerate", summaryId: id })}>Regenerate</button>
        </span>
    );
}
