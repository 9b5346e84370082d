/** What waits for the user: questions of tools, answers that broke off, what failed. */
import { useEffect } from "preact/hooks";

import { serviceOf } from "../native/model_list";
import type { BrokenAnswer } from "../protocol.gen";
import { CHAT, COMPOSER, DECISIONS, ENDINGS, SETUP } from "../texts";
import { Diff, linesOf } from "./diff";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { KeyButtons } from "./setup";
import type { Approval, State } from "./state";
import { Markdown } from "./text";
import { lookOf } from "./tool_lines";
import { visible } from "./visible";

/** A question of a tool. It stands above the composer, so that it cannot scroll away. `place`: which of how many. */
export function ApprovalCard({ approval, place }: { readonly approval: Approval; readonly place: string }) {
    const { post } = useEnds();
    const { request, id } = approval;
    const answer = (word: "once" | "always" | "deny" | "never") => () => post({ type: "approve", id, answer: word });
    useEffect(() => {
        // From everywhere in the panel; what is typed keeps its Backspace.
        const onKeyDown = (event: KeyboardEvent) => {
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
    const lines = linesOf(request.shown);
    const look = lookOf(request.tool);
    const [yes, no] = request.tool === "run_command" ? [DECISIONS.run, DECISIONS.dontRun] : request.tool === "propose_edit" ? [DECISIONS.accept, DECISIONS.reject] : [DECISIONS.allow, DECISIONS.notNow];
    const counted = (kind: string) => (lines ?? []).filter((each) => each.kind === kind).length;
    return (
        <section class="decide" role="group" aria-label={request.title} data-testid="approval">
            <header>
                <Icon name={look.icon} /><span class="q">{visible(request.title)}</span>
                {lines !== undefined && <span class="num"><span class="add-n">+{counted("add")}</span> <span class="del-n">−{counted("del")}</span></span>}
                {place !== "" && <span class="muted num">{place}</span>}
            </header>
            {lines !== undefined ? <Diff lines={lines} name={request.title} /> : <pre class={request.tool === "run_command" ? "cmd" : "shown"} tabIndex={0} aria-label="The effect">{request.shown}</pre>}
            <footer>
                <button type="button" class="btn" onClick={answer("once")}>{yes} <kbd>Ctrl ⏎</kbd></button>
                <button type="button" class="btn second" onClick={answer("deny")}>{no} <kbd>Ctrl ⌫</kbd></button>
                {request.mayBeAlways && <button type="button" class="text-btn" onClick={answer("always")}>{DECISIONS.always} {visible(request.covers)}</button>}
                <button type="button" class="text-btn" onClick={answer("never")}>{DECISIONS.never} {visible(request.covers)}</button>
            </footer>
        </section>
    );
}

const WHY = {
    complete: "Results of its tool calls are missing.",
    errored: "It failed.",
    incomplete: "The server ended in the middle of it.",
} as const;

const FATE = { finished: "finished", notRun: "not started", unknown: "it is unknown whether it took effect" } as const;

export function RecoveryCard({ answer }: { readonly answer: BrokenAnswer }) {
    const { post } = useEnds();
    const recover = (action: "continue" | "keep" | "discard" | "retry", asDraft = false) => () => post({ type: "recover", turnId: answer.turnId, action, ...(asDraft ? { asDraft } : {}) });
    return (
        <section class="notice warn" role="group" aria-label={`An answer broke off in ${visible(answer.title) || "an untitled conversation"}`} data-testid="recovery">
            <Icon name="warning" />
            <div class="body">
                <p><strong>{ENDINGS.brokeOff}</strong> “{visible(answer.title) || "Untitled"}”</p>
                <p>{visible(answer.errorMessage ?? WHY[answer.class])}</p>
                {answer.text !== "" && (
                    <details class="tool">
                        <summary><span class="verb">What stands of it ({answer.textLength.toLocaleString("en")} characters)</span><Icon name="chevron-right turn-arrow" /></summary>
                        <div class="inside"><pre tabIndex={0}>{visible(answer.text)}</pre></div>
                    </details>
                )}
                {answer.toolBatch?.map((call) => <p key={call.callId}>{visible(call.name)}: {FATE[call.fate]}</p>)}
            </div>
            <div class="do">
                <button type="button" class="btn" onClick={recover("continue")}>{CHAT.goOn}</button>
                <button type="button" class="btn second" onClick={recover("retry")}>{CHAT.tryAgain}</button>
                <button type="button" class="text-btn" onClick={recover("keep")}>{ENDINGS.keep}</button>
                <button type="button" class="text-btn" onClick={recover("discard")}>{ENDINGS.discard}</button>
                <button type="button" class="text-btn" onClick={recover("discard", true)}>{ENDINGS.discardAndEdit}</button>
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
        return (
            <section class="notice bad" role="alert" data-testid="failure">
                <Icon name="error" />
                <div class="body"><p>{failure.isKeyRefused === true && state.usage !== undefined ? SETUP.refused(serviceOf(state.usage.provider)) : visible(failure.sentence)}</p></div>
                <div class="do">
                    {failure.isKeyRefused === true && <KeyButtons service={state.usage?.provider} />}
                    {failure.forFork !== undefined && <ForkButton text={failure.forFork} />}
                    {failure.turnId !== undefined && <TurnButtons turnId={failure.turnId} />}
                    <button type="button" class="text-btn" onClick={() => dispatch({ type: "dismiss", what: "failure" })}>{ENDINGS.dismiss}</button>
                </div>
            </section>
        );
    }
    // What can be done about an answer that broke off stands on top.
    if (ended === undefined || state.recovery.some((each) => each.turnId === ended.turnId)) {
        return null;
    }
    const isWhole = ended.status === "committed" && ended.stopReason !== "output_limit" && ended.stopReason !== "tool_rounds";
    const why = ended.status === "cancelled" ? ENDINGS.stopped : ended.stopReason === "output_limit" ? ENDINGS.limit : isWhole ? "" : ENDINGS.brokeOff;
    return (
        <div class="ended" role="toolbar" aria-label="The last answer" data-testid="ending">
            {why !== "" && <span>{why}</span>}
            {isWhole ? <button type="button" class="text-btn" onClick={() => post({ type: "retry", turnId: ended.turnId })}>{CHAT.tryAgain}</button> : <TurnButtons turnId={ended.turnId} />}
        </div>
    );
}

function ForkButton({ text }: { readonly text: string }) {
    const { post } = useEnds();
    return <button type="button" class="btn" onClick={() => post({ type: "forkAndGoOn", text })} data-testid="fork-and-go-on">{COMPOSER.goOnInFork}</button>;
}

function TurnButtons({ turnId }: { readonly turnId: string }) {
    const { post } = useEnds();
    return (
        <>
            <button type="button" class="text-btn" onClick={() => post({ type: "continue", turnId })}>{CHAT.goOn}</button>
            <button type="button" class="text-btn" onClick={() => post({ type: "retry", turnId })}>{CHAT.tryAgain}</button>
        </>
    );
}

export function Reply({ state }: { readonly state: State }) {
    const { dispatch } = useEnds();
    return state.reply === undefined ? null : (
        <section class="notice info" aria-label={`Answer to ${visible(state.reply.command)}`} data-testid="reply">
            <Icon name="terminal" />
            <div class="body"><Markdown text={state.reply.text} /></div>
            <IconButton icon="close" name={ENDINGS.close} onClick={() => dispatch({ type: "dismiss", what: "reply" })} />
        </section>
    );
}
