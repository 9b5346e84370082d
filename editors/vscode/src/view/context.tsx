/** What the model sees: the next request as a picture, in order, over time, and what it cost. */
import { useMemo, useState } from "preact/hooks";

import type { FromView } from "../messages";
import type { ContextSegment, ContextUsage, PrepareContextResult } from "../protocol.gen";
import { CONTEXT, HISTORY, SAID } from "../texts";
import { nameOf, shares } from "./bar";
import { ContextChart } from "./context_chart";
import { CostSection } from "./cost_cards";
import { Details } from "./context_details";
import { ContextList } from "./context_list";
import { ContextMap } from "./context_map";
import { cellsOf, classOf, reasonOf, titleOf, tokensOf } from "./context_segments";
import { percent, short } from "./figures";
import { useContextMenu } from "./menu";
import { Icon, IconButton, PageHead } from "./page_head";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

const SHARE_CLASSES: Readonly<Record<string, string>> = { system: "k-system", tools: "k-tools", pins: "k-rules", summaries: "k-summaries", messages: "k-messages", previews: "k-previews", injections: "k-recalled", free: "k-free", reserve: "k-reserve", margin: "k-reserve" };

export function Explain({ state }: { readonly state: State }) {
    const { post } = useEnds();
    const context = state.context;
    return (
        <section class="page-frame explain" aria-label={CONTEXT.title} data-testid="explain">
            <PageHead title={CONTEXT.title}><IconButton icon="refresh" name={HISTORY.readAgain} onClick={() => post({ type: "explain" })} /></PageHead>
            {context === undefined ? <div class="page"><p class="muted" role="status">{state.conversation === undefined ? CONTEXT.noConversation : CONTEXT.reading}</p></div> : <Request key={context.plan.segments.length} state={state} context={context} />}
            {context !== undefined && (
                <footer class="foot">
                    <button type="button" class="btn" onClick={() => post({ type: "summarize" })}><Icon name="fold" />{CONTEXT.summarizeNow}</button>
                    <button type="button" class="btn second" onClick={() => post({ type: "undo" })}><Icon name="discard" />{CONTEXT.undoLast}</button>
                    <IconButton icon="redo" name={CONTEXT.redoLast} onClick={() => post({ type: "redo" })} />
                </footer>
            )}
        </section>
    );
}

function Request({ state, context }: { readonly state: State; readonly context: NonNullable<State["context"]> }) {
    const { plan, usage, stats, events } = context;
    const now = new Date();
    return (
        <div class="page wide">
            <Whole plan={plan} usage={usage} />
            {plan.segments.some((each) => each.messages !== undefined) ? <InOrder plan={plan} usage={usage} /> : <p class="muted full">{CONTEXT.nothingYet}</p>}
            {stats !== undefined && (
                <div class="column">
                    <ContextChart stats={stats} plan={plan} events={events} now={now} />
                    {state.costs !== undefined && <CostSection costs={state.costs} />}
                </div>
            )}
            <Details plan={plan} stats={stats} progress={state.progress} />
        </div>
    );
}

/** How full the window is, as a figure, a bar and a table. */
function Whole({ plan, usage }: { readonly plan: PrepareContextResult; readonly usage: ContextUsage }) {
    const all = shares(usage);
    const whole = all.reduce((sum, each) => sum + each.tokens, 0);
    const limit = plan.summarizeAtTokens;
    const about = CONTEXT.about[usage.counting];
    return (
        <section class="full">
            <div class="figure">
                {about !== "" && <span class="muted">{about}</span>}
                <b class="num">{short(plan.usedTokens)}</b>
                <span class="muted ellipsis">{CONTEXT.ofFit(short(plan.limitTokens))}<span class={about === "" ? "hide-narrow" : "hide-mid"}>{CONTEXT.thatFit(visible(plan.model))}</span></span>
                <span class="spring" />
                <span class="num">{percent(plan.usedTokens, plan.limitTokens)}</span>
            </div>
            {plan.suggestion !== undefined && <p class="warn">{visible(plan.suggestion)}</p>}
            <div class="stack" aria-hidden="true">
                <div class="cells">
                    {all.map((share) => <span key={share.kind} class={`fill ${SHARE_CLASSES[share.kind] ?? "k-overhead"}`} style={{ flexGrow: share.tokens }} title={`${nameOf(share.kind)}: ${short(share.tokens)} ${SAID.tokens}`} />)}
                </div>
                {limit !== undefined && <span class="tick" style={{ "--at": `${(100 * limit) / Math.max(1, whole)}%` }}><span>{CONTEXT.summarizesHere}</span></span>}
            </div>
            <ul class="plain legend" aria-label={CONTEXT.shares}>
                {all.map((share) => (
                    <li key={share.kind}>
                        <span class={`swatch fill ${SHARE_CLASSES[share.kind] ?? "k-overhead"}`} aria-hidden="true" />
                        <span class="ellipsis">{nameOf(share.kind)}</span>
                        <span class="num" title={`${share.tokens.toLocaleString("en")} ${SAID.tokens}`}>{short(share.tokens)}</span>
                        <span class="num">{percent(share.tokens, whole)}</span>
                    </li>
                ))}
            </ul>
        </section>
    );
}

function InOrder({ plan, usage }: { readonly plan: PrepareContextResult; readonly usage: ContextUsage }) {
    const { post, dispatch } = useEnds();
    const [isList, setList] = useState(false);
    const cells = useMemo(() => cellsOf(plan.segments), [plan.segments]);
    const [picked, setPicked] = useState(() => Math.max(0, plan.segments.findLastIndex((each) => each.type === "message" && each.role === "user")));
    const segment = plan.segments[picked];
    const open = (index: number) => {
        const chosen = plan.segments[index];
        if (chosen?.messages !== undefined) {
            dispatch({ type: "showMessage", messageId: chosen.messages.start, tab: chosen.type === "summary" ? "summary" : "originals" });
        }
    };
    const onContextMenu = useContextMenu(CONTEXT.chosen, () => (segment === undefined ? [] : actionsOf(segment, post, () => open(picked)).map((each) => ({ label: each.label, onPick: each.does }))));
    const props = { picked, onPick: setPicked, onOpen: open };
    return (
        <section>
            <h2>
                {CONTEXT.inOrder}
                <span class="spring" />
                <span class="tabs" role="group" aria-label={CONTEXT.shownAs}>
                    <button type="button" aria-pressed={!isList} onClick={() => setList(false)}>{CONTEXT.map}</button>
                    <button type="button" aria-pressed={isList} onClick={() => setList(true)}>{CONTEXT.list}</button>
                </span>
            </h2>
            <div onContextMenu={onContextMenu}>
                {isList ? <ContextList segments={plan.segments} {...props} /> : <ContextMap cells={cells} plan={plan} usage={usage} {...props} />}
            </div>
            {segment !== undefined && <Detail segment={segment} onOpen={() => open(picked)} />}
        </section>
    );
}

/** What can be done about a segment. */
function actionsOf({ type, messages, summaryId }: ContextSegment, post: (message: FromView) => void, onOpen: () => void) {
    if (messages === undefined) {
        return [];
    }
    return [
        { label: CONTEXT.showInChat, does: onOpen },
        ...(type === "message" || type === "preview" ? [{ label: CONTEXT.summarizeUpToHere, does: () => post({ type: "summarize", upTo: messages.end - 1 }) }] : []),
        ...(summaryId === undefined ? [] : [
            { label: CONTEXT.sendOriginals, does: () => post({ type: "expand", summaryId }) },
            { label: CONTEXT.writeAgain, does: () => post({ type: "regenerate", summaryId }) },
        ]),
    ];
}

/** The card about one segment. */
function Detail({ segment, onOpen }: { readonly segment: ContextSegment; readonly onOpen: () => void }) {
    const { post } = useEnds();
    const { originalTokens } = segment;
    const actions = actionsOf(segment, post, onOpen);
    return (
        <div class={`detail ${classOf(segment)}`} role="group" aria-label={CONTEXT.chosen} data-testid="segment-detail">
            <div class="top">
                <b>{visible(titleOf(segment))}</b>
                <span class="num">{tokensOf(segment)}{originalTokens === undefined ? "" : CONTEXT.insteadOf(short(originalTokens))}</span>
                <span>{segment.isInPrefix ? CONTEXT.sentBefore : CONTEXT.isNew}</span>
            </div>
            {segment.excerpt !== undefined && <q>{visible(segment.excerpt)}</q>}
            <p class="why">{visible(reasonOf(segment))}</p>
            {actions.length > 0 && <div class="do">{actions.map((each) => <button key={each.label} type="button" class="text-btn" onClick={each.does}>{each.label}</button>)}</div>}
        </div>
    );
}
