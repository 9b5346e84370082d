/** How full each request was, where the context was made smaller, and why. */
import type { ContextEventLine } from "../messages";
import type { PrepareContextResult, StatsResult } from "../protocol.gen";
import { CONTEXT, MOMENTS } from "../texts";
import { describeTimeline, timelineOf } from "./context_moments";
import { counted, moment, percent, short } from "./figures";
import { Icon } from "./page_head";
import { visible } from "./visible";

/** In units of the drawing: bars are ten wide, the chart is a hundred high. */
const BAR = 10;
const HIGH = 100;
const LINES = 8;

interface Props {
    readonly stats: StatsResult;
    readonly plan: PrepareContextResult;
    readonly events: readonly ContextEventLine[];
    readonly now: Date;
}

export function ContextChart({ stats, plan, events, now }: Props) {
    const limit = plan.summarizeAtTokens;
    const line = timelineOf(stats.moments, plan.limitTokens, limit);
    const width = Math.max(1, line.bars.length) * BAR;
    const high = (tokens: number) => (HIGH * tokens) / line.most;
    const limitAt = limit === undefined || !line.showsLimit ? 0 : HIGH - high(limit);
    const first = line.bars[0];
    const last = line.bars.at(-1);
    return (
        <section>
            <h2>{CONTEXT.overTime}<span class="spring" /><span class="muted meta">{counted(line.bars.length, "request")}</span></h2>
            {line.bars.length > 0 && (
                <div class="chart-wrap">
                    <svg class="chart" viewBox={`0 0 ${width} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label={describeTimeline(line)}>
                        {line.bars.map((bar, index) => (
                            <g key={index}>
                                <rect class="hit" x={index * BAR + 0.5} y={HIGH - high(bar.cached)} width={BAR - 1.4} height={high(bar.cached)} />
                                <rect class="use" x={index * BAR + 0.5} y={HIGH - high(bar.tokens)} width={BAR - 1.4} height={high(bar.tokens - bar.cached)}><title>{`${moment(new Date(bar.at), now)}: ${counted(bar.tokens, "token")}, ${MOMENTS.fromCache(percent(bar.cached, bar.tokens))}`}</title></rect>
                            </g>
                        ))}
                        {limit !== undefined && line.showsLimit && <line class="limit" x1="0" x2={width} y1={limitAt} y2={limitAt} />}
                        {line.cuts.map((cut, index) => <line key={index} class="cut" x1={cut.bar * BAR} x2={cut.bar * BAR} y1="0" y2={HIGH} />)}
                    </svg>
                    {limit !== undefined && <span class="y" style={{ top: line.showsLimit ? `calc(${limitAt / HIGH} * var(--chart-high) - 15px)` : "0" }}>{line.showsLimit ? `${short(limit)}: ${CONTEXT.summarizesHere}` : `↑ ${CONTEXT.summarizesAt} ${short(limit)}`}</span>}
                    <div class="x"><span>{first === undefined ? "" : moment(new Date(first.at), now)}</span><span>{last === undefined ? "" : moment(new Date(last.at), now)}</span></div>
                </div>
            )}
            <ul class="plain events" aria-label={CONTEXT.changes} data-testid="timeline">
                {line.cuts.slice(-LINES).map((cut, index) => (
                    <li key={index} title={moment(new Date(cut.at), now)}>
                        <Icon name={cut.icon} />
                        <span>{cut.what}</span>
                        <span class="muted ellipsis">{visible(cut.detail)}</span>
                        <span class="num">{short(cut.before)} → {short(cut.after)}</span>
                    </li>
                ))}
                {events.slice(-LINES).map((event, index) => (
                    <li key={`event ${index}`}>
                        <Icon name="info" />
                        <span>{event.what}</span>
                        <span class="muted ellipsis" title={event.detail}>{visible(event.detail)}</span>
                        <time dateTime={event.at}>{moment(new Date(event.at), now)}</time>
                    </li>
                ))}
            </ul>
        </section>
    );
}
