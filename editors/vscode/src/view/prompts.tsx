/** What waits for the user: questions of tools, answers that broke off, what failed. */
import { useEffect, useMemo, useRef } from "preact/hooks";

import { serviceOf } from "../native/model_list";
import type { BrokenAnswer } from "../protocol.gen";
import { CHAT, COMPOSER, COSTS, DECISIONS, ENDINGS, FAILED, SAID, SETUP } from "../texts";
import { Diff, linesOf } from "./diff";
import { capital, dayInWords, time } from "./figures";
import { MenuButton } from "./menu";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { wholeEnd, type Approval, type Failure, type State } from "./state";
import { Markdown } from "./text";
import { didOf, lookOf } from "./tool_lines";
import { visible } from "./visible";
import { WithCode } from "./with_code";

/** It asks as a tool does, when the budget of the month is spent. */
const BUDGET = "budget";
const EDIT = "propose_edit";

/** A question of a tool. It stands above the composer, so that it cannot scroll away. `place`: which of how many. */
export function ApprovalCard({ approval, place }: { readonly approval: Approval; readonly place: string }) {
    const { post } = useEnds();
    const { request, id } = approval;
    const card = useRef<HTMLElement>(null);
    const answer = (word: "once" | "always" | "deny" | "never" | "editsOfTurn") => () => post({ type: "approve", id, answer: word });
    useEffect(() => {
        // From everywhere in the panel; what is typed keeps its Backspace.
        const onKeyDown = (event: KeyboardEvent) => {
            if (event.altKey && event.key === "Enter") {
                event.preventDefault();
                event.stopPropagation();
                card.current?.querySelector<HTMLElement>("[aria-haspopup=menu]")?.click();
                return;
            }
            const isTyping = document.activeElement instanceof HTMLTextAreaElement && document.activeElement.value !== "";
            if ((event.ctrlKey || event.metaKey) && (event.key === "Enter" || (event.key === "Backspace" && !isTyping))) {
                event.preventDefault();
                event.stopPropagation();
                answer(event.key === "Enter" ? "once" : "deny")();
            }
        };
        document.addEventListener("keydown", onKeyDown, true);
        return () => {
            document.removeEventListener("keydown", onKeyDown, true);
        };
    }, [id]);
    const lines = useMemo(() => linesOf(request.shown), [request]);
    const look = lookOf(request.tool);
    const isEdit = request.tool === EDIT;
    const [yes, no] = request.tool === "run_command" ? [DECISIONS.run, DECISIONS.dontRun] : isEdit ? [DECISIONS.accept, DECISIONS.reject] : request.tool === BUDGET ? [DECISIONS.goOnToday, DECISIONS.notNow] : [DECISIONS.allow, DECISIONS.notNow];
    const counted = (kind: string) => (lines ?? []).filter((each) => each.kind === kind).length.toLocaleString("en");
    return (
        <section class="decide" role="group" aria-label={request.title} ref={card} data-testid="approval">
            <header>
                <Icon name={look.icon} /><span class="q">{titled(request)}</span>
                {lines !== undefined && <span class="num"><span class="add-n">+{counted("add")}</span> <span class="del-n">−{counted("del")}</span></span>}
                {place !== "" && <span class="muted num">{place}</span>}
            </header>
            {lines !== undefined ? <Diff lines={lines} name={request.title} /> : request.tool === BUDGET ? <div class="text"><p>{visible(request.shown)}</p></div> : <pre class={request.tool === "run_command" ? "cmd" : "shown"} tabIndex={0} aria-label={SAID.effect}>{request.shown}</pre>}
            <footer>
                <span class="split">
                    <button type="button" class="btn" onClick={answer("once")}>{yes} <kbd>Ctrl ⏎</kbd></button>
                    <MenuButton class="btn" icon="chevron-down" name={DECISIONS.moreAnswers} choices={[
                        request.mayBeAlways && { label: `${DECISIONS.always} ${visible(request.covers)}`, onPick: answer("always") },
                        isEdit && { label: DECISIONS.acceptAll, onPick: answer("editsOfTurn") },
                        request.tool === BUDGET ? { label: COSTS.changeBudget, onPick: () => post({ type: "changeBudget" }) } : { label: `${DECISIONS.never} ${visible(request.covers)}`, beginsGroup: request.mayBeAlways || isEdit, onPick: answer("never") },
                    ]} />
                </span>
                <button type="button" class="btn second" onClick={answer("deny")}>{no} <kbd>Ctrl ⌫</kbd></button>
            </footer>
        </section>
    );
}

/** The question, with the file that it is about as a link. */
function titled({ title, tool, shown }: Approval["request"]) {
    const path = tool === "propose_edit" ? /^\+\+\+ (?:b\/)?(.+)$/m.exec(shown)?.[1] : undefined;
    const [before, after] = path === undefined ? [title] : title.split(path, 2);
    return path === undefined || after === undefined ? visible(title) : <>{visible(before ?? "")}<a class="ref" role="link" tabIndex={0} data-path={path} title={SAID.open(visible(path))}>{visible(path)}</a>{visible(after)}</>;
}

/** `Yesterday at 6:04 PM. `. */
function when(answer: BrokenAnswer): string {
    const at = new Date(answer.endedAt);
    return Number.isNaN(at.getTime()) ? "" : ENDINGS.at(capital(dayInWords(at, new Date())), time(at));
}

export function RecoveryCard({ answer }: { readonly answer: BrokenAnswer }) {
    const { post } = useEnds();
    const recover = (action: "continue" | "keep" | "discard" | "retry", asDraft = false) => () => post({ type: "recover", turnId: answer.turnId, action, ...(asDraft ? { asDraft } : {}) });
    return (
        <section class="notice warn" role="group" aria-label={SAID.brokeOffIn(visible(answer.title) || SAID.untitled)} data-testid="recovery">
            <Icon name="debug-disconnect" />
            <div class="body">
                <p><strong>{answer.class === "incomplete" ? ENDINGS.closed : ENDINGS.brokeOff}</strong></p>
                <p>{when(answer)}{visible(answer.errorMessage ?? ENDINGS.why[answer.class])}</p>
                {answer.text !== "" && (
                    <details class="tool">
                        <summary><span class="verb">{ENDINGS.whatStands(answer.textLength.toLocaleString("en"))}</span><Icon name="chevron-right turn-arrow" /></summary>
                        <div class="inside"><pre tabIndex={0}>{visible(answer.text)}</pre></div>
                    </details>
                )}
                {answer.toolBatch?.map((call) => <p key={call.callId}>{ENDINGS.fates[call.fate](didOf(call.name, call.arguments))}</p>)}
            </div>
            <div class="do">
                <button type="button" class="btn" onClick={recover("continue")}>{CHAT.goOn}</button>
                <button type="button" class="btn second" onClick={recover("retry")}>{CHAT.tryAgain}</button>
                <MenuButton icon="ellipsis" name={ENDINGS.more} choices={[
                    { label: ENDINGS.keep, onPick: recover("keep") },
                    { label: ENDINGS.discard, onPick: recover("discard") },
                    { label: ENDINGS.discardAndEdit, onPick: recover("discard", true) },
                ]} />
            </div>
        </section>
    );
}

/** How the last turn ended, where something can be done about it. */
export function Ending({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const { failure, ended } = state;
    if (state.live !== undefined) {
        return null;
    }
    if (failure !== undefined) {
        return <FailureCard failure={failure} state={state} onDismiss={() => dispatch({ type: "dismiss", what: "failure" })} />;
    }
    // What can be done about an answer that broke off stands on top.
    if (ended === undefined || state.recovery.some((each) => each.turnId === ended.turnId)) {
        return null;
    }
    const isWhole = wholeEnd(state) !== undefined;
    const newest = state.messages.get(state.total - 1);
    if (isWhole && (newest === undefined || (newest.role === "assistant" && !newest.isHidden && newest.text !== ""))) {
        return null; // its own row has the buttons
    }
    const why = ended.status === "cancelled" ? ENDINGS.stopped : ended.stopReason === "output_limit" ? ENDINGS.limit : isWhole ? "" : ENDINGS.brokeOff;
    return (
        <div class="ended" role="toolbar" aria-label={CHAT.lastAnswer} data-testid="ending">
            {ended.status === "cancelled" && <Icon name="debug-stop" />}
            {why !== "" && <span>{why}</span>}
            {isWhole ? <button type="button" class="text-btn" onClick={() => post({ type: "retry", turnId: ended.turnId })}>{CHAT.tryAgain}</button> : <TurnButtons turnId={ended.turnId} hasText={hasAnswer(state)} />}
        </div>
    );
}

/** Whether anything of the newest answer is there, that could be continued. */
function hasAnswer(state: State): boolean {
    return state.messages.get(state.total - 1)?.role !== "user";
}

/** The kind of the failure when the budget of the month is spent: another model would be refused as well. */
const SPENT = "budget_spent";

/** Icons of failures by their kind; of those that pass by themselves the tone is a warning. */
const FAILURES: Readonly<Record<string, { readonly icon: string; readonly isPassing?: boolean }>> = {
    auth: { icon: "key" },
    rate_limited: { icon: "watch", isPassing: true },
    overloaded: { icon: "pulse", isPassing: true },
    network: { icon: "debug-disconnect", isPassing: true },
    context_too_long: { icon: "layers", isPassing: true },
    recent_messages_too_large: { icon: "layers", isPassing: true },
    quota: { icon: "credit-card" },
    [SPENT]: { icon: "credit-card" },
};

/** A turn that failed: what happened, what it means, and what can be done. */
function FailureCard({ failure, state, onDismiss }: { readonly failure: Failure; readonly state: State; readonly onDismiss: () => void }) {
    const { post } = useEnds();
    const kind = failure.kind ?? "";
    const service = serviceOf(state.usage?.provider ?? "");
    const look = FAILURES[kind];
    const told = state.usage === undefined ? undefined : FAILED[kind]?.(service);
    const isTooLong = kind === "context_too_long" || kind === "recent_messages_too_large";
    const isPassing = look?.isPassing === true && !isTooLong && !hasAnswer(state);
    return (
        <section class={`notice ${look?.isPassing === true ? "warn" : "bad"}`} role="alert" data-testid="failure">
            <Icon name={look?.icon ?? "error"} />
            <div class="body">
                {told !== undefined && <p><strong>{told[0]}</strong></p>}
                <p>{told?.[1] ?? <WithCode text={failure.sentence} />}</p>
            </div>
            <IconButton icon="close" name={ENDINGS.dismiss} onClick={onDismiss} />
            <div class="do">
                {kind === "auth" && <button type="button" class="btn" onClick={() => post({ type: "setUp", ...(state.usage === undefined ? {} : { service: state.usage.provider }) })}>{SETUP.changeKey}</button>}
                {kind === SPENT && <button type="button" class="btn" onClick={() => post({ type: "changeBudget" })}>{COSTS.changeBudget}</button>}
                {failure.forFork !== undefined && <ForkButton text={failure.forFork} />}
                {isPassing && failure.turnId !== undefined && <button type="button" class="btn" onClick={() => post({ type: "retry", turnId: failure.turnId ?? "" })}>{CHAT.tryAgain}</button>}
                {look !== undefined && kind !== SPENT && <button type="button" class={kind === "quota" || isTooLong ? "btn" : "btn second"} onClick={() => post({ type: "pickModel" })}>{isTooLong ? SETUP.largerModel : SETUP.switchModel}</button>}
                {!isPassing && !isTooLong && failure.turnId !== undefined && <TurnButtons turnId={failure.turnId} hasText={hasAnswer(state)} />}
            </div>
        </section>
    );
}

function ForkButton({ text }: { readonly text: string }) {
    const { post } = useEnds();
    return <button type="button" class="btn" onClick={() => post({ type: "forkAndGoOn", text })} data-testid="fork-and-go-on">{COMPOSER.goOnInFork}</button>;
}

function TurnButtons({ turnId, hasText }: { readonly turnId: string; readonly hasText: boolean }) {
    const { post } = useEnds();
    return (
        <>
            {hasText && <button type="button" class="text-btn" onClick={() => post({ type: "continue", turnId })}>{CHAT.goOn}</button>}
            <button type="button" class="text-btn" onClick={() => post({ type: "retry", turnId })}>{CHAT.tryAgain}</button>
        </>
    );
}

export function Reply({ state }: { readonly state: State }) {
    const { dispatch } = useEnds();
    return state.reply === undefined ? null : (
        <section class="notice info" aria-label={SAID.answerTo(visible(state.reply.command))} data-testid="reply">
            <Icon name="terminal" />
            <div class="body"><Markdown text={state.reply.text} /></div>
            <IconButton icon="close" name={ENDINGS.close} onClick={() => dispatch({ type: "dismiss", what: "reply" })} />
        </section>
    );
}
