/** What waits for the user: questions of tools, answers that broke off, what failed. */
import { serviceOf } from "../native/model_list";
import type { BrokenAnswer } from "../protocol.gen";
import { SETUP } from "../texts";
import { useEnds } from "./post";
import { KeyButtons } from "./setup";
import type { Approval, State } from "./state";
import { Markdown } from "./text";
import { visible } from "./visible";

export function ApprovalCard({ approval }: { readonly approval: Approval }) {
    const { post } = useEnds();
    const { request, id } = approval;
    const answer = (word: "once" | "always" | "deny" | "never") => () => post({ type: "approve", id, answer: word });
    return (
        <section class="card approval" role="group" aria-label={request.title} data-testid="approval">
            <p><strong>{visible(request.title)}</strong></p>
            <pre class="shown" tabIndex={0} aria-label="The effect">{request.shown}</pre>
            <div class="tools">
                <button type="button" onClick={answer("once")}>Allow once</button>
                {request.mayBeAlways && <button type="button" class="secondary" onClick={answer("always")}>Always allow {visible(request.covers)}</button>}
                <button type="button" class="secondary" onClick={answer("deny")}>Not now</button>
                <button type="button" class="secondary" onClick={answer("never")}>Never allow {visible(request.covers)}</button>
            </div>
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
        <section class="card recovery" role="group" aria-label={`An answer broke off in ${visible(answer.title) || "an untitled conversation"}`} data-testid="recovery">
            <p><strong>An answer broke off</strong> in “{visible(answer.title) || "Untitled"}”. {visible(answer.errorMessage ?? WHY[answer.class])}</p>
            {answer.text !== "" && (
                <details>
                    <summary>What stands of it ({answer.textLength.toLocaleString("en")} characters)</summary>
                    <pre tabIndex={0}>{visible(answer.text)}</pre>
                </details>
            )}
            {answer.toolBatch?.map((call) => <p key={call.callId} class="state">{visible(call.name)}: {FATE[call.fate]}</p>)}
            <div class="tools">
                <button type="button" onClick={recover("continue")}>Continue</button>
                <button type="button" class="secondary" onClick={recover("retry")}>Retry</button>
                <button type="button" class="secondary" onClick={recover("keep")}>Keep</button>
                <button type="button" class="secondary" onClick={recover("discard")}>Discard</button>
                <button type="button" class="secondary" onClick={recover("discard", true)}>Discard, message back as draft</button>
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
            <section class="card failure" role="alert" data-testid="failure">
                <p>{failure.isKeyRefused === true && state.usage !== undefined ? SETUP.refused(serviceOf(state.usage.provider)) : visible(failure.sentence)}</p>
                <div class="tools">
                    {failure.isKeyRefused === true && <KeyButtons service={state.usage?.provider} />}
                    {failure.forFork !== undefined && <ForkButton text={failure.forFork} />}
                    {failure.turnId !== undefined && <TurnButtons turnId={failure.turnId} />}
                    <button type="button" class="secondary" onClick={() => dispatch({ type: "dismiss", what: "failure" })}>Dismiss</button>
                </div>
            </section>
        );
    }
    // What can be done about an answer that broke off stands on top.
    if (ended === undefined || state.recovery.some((each) => each.turnId === ended.turnId)) {
        return null;
    }
    const isWhole = ended.status === "committed" && ended.stopReason !== "output_limit" && ended.stopReason !== "tool_rounds";
    return (
        <div class="tools ending" role="toolbar" aria-label="The last answer" data-testid="ending">
            {isWhole ? <button type="button" class="small" onClick={() => post({ type: "retry", turnId: ended.turnId })}>Retry</button> : <TurnButtons turnId={ended.turnId} />}
        </div>
    );
}

function ForkButton({ text }: { readonly text: string }) {
    const { post } = useEnds();
    return <button type="button" onClick={() => post({ type: "forkAndGoOn", text })} data-testid="fork-and-go-on">Go on in a fork</button>;
}

function TurnButtons({ turnId }: { readonly turnId: string }) {
    const { post } = useEnds();
    return (
        <>
            <button type="button" class="small" onClick={() => post({ type: "continue", turnId })}>Continue</button>
            <button type="button" class="small" onClick={() => post({ type: "retry", turnId })}>Retry</button>
        </>
    );
}

export function Reply({ state }: { readonly state: State }) {
    const { dispatch } = useEnds();
    return state.reply === undefined ? null : (
        <section class="card reply" aria-label={`Answer to ${visible(state.reply.command)}`} data-testid="reply">
            <Markdown text={state.reply.text} />
            <button type="button" class="small" onClick={() => dispatch({ type: "dismiss", what: "reply" })}>Close</button>
        </section>
    );
}
