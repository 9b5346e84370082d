/** The way to a model, wherever one is missing: before the first question, after an answer of quotes, after a refusal. */
import { SETUP, START } from "../texts";
import { Icon } from "./page_head";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

const OFFLINE = "offline";

export function SetUp({ state }: { readonly state: State }) {
    const { post } = useEnds();
    if (state.live !== undefined || state.server.phase !== "ready") {
        return null;
    }
    if (state.total === 0) {
        return state.hasModel === false ? (
            <section class="setup" data-testid="set-up">
                <p>{SETUP.noModel}</p>
                <button type="button" class="btn wide" onClick={() => post({ type: "setUp" })}><Icon name="key" />{SETUP.addKey}</button>
            </section>
        ) : null;
    }
    if (state.usage?.model !== OFFLINE) {
        return null;
    }
    const { defaultModel } = state;
    return (
        <p class="ended quotes-only" data-testid="quotes-only">
            {defaultModel === undefined ? SETUP.quotes : SETUP.onlySearches}{" "}
            {defaultModel !== undefined && <button type="button" class="text-btn" onClick={() => post({ type: "goOnWith", model: defaultModel })} data-testid="go-on-with">{SETUP.goOnWith(visible(defaultModel))}</button>}
            {state.hasModel === true ? <button type="button" class="text-btn" onClick={() => post({ type: "pickModel" })}>{SETUP.switchModel}</button> : <button type="button" class="text-btn" onClick={() => post({ type: "setUp" })}>{SETUP.addKey}</button>}
        </p>
    );
}

/** The first sentence as a heading, where there are more. */
function headed(text: string) {
    const end = text.indexOf(". ") + 1;
    return end === 0 ? <p>{text}</p> : <><p><strong>{text.slice(0, end)}</strong></p><p>{text.slice(end + 1)}</p></>;
}

/** A server that is not there yet, or could not start. */
export function ServerCard({ server }: { readonly server: State["server"] }) {
    const { post } = useEnds();
    return (
        <section class={`notice ${server.phase === "stopped" ? "bad" : "info"}`} aria-label={START.server} data-testid="server">
            <Icon name={server.phase === "stopped" ? "error" : "loading"} spin={server.phase !== "stopped"} />
            <div class="body">{headed(server.sentence)}</div>
            {server.phase === "stopped" && (
                <div class="do">
                    <button type="button" class="btn" onClick={() => post({ type: "startServer" })}>{START.tryAgain}</button>
                    {server.needsPython === true && <button type="button" class="btn second" onClick={() => post({ type: "choosePython" })}>{START.choosePython}</button>}
                    <button type="button" class="text-btn" onClick={() => post({ type: "showLog" })}>{START.showLog}</button>
                </div>
            )}
        </section>
    );
}
