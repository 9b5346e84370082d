/** The panel. */
import { useEffect, useRef } from "preact/hooks";

import { Composer, type Typed } from "./composer";
import { Explain } from "./context";
import { Conversations, titleOf } from "./conversations";
import { FactsPage } from "./facts";
import { StaleLine } from "./layer";
import { MessageList } from "./list";
import { staleCount } from "./memory";
import { LiveAnswer } from "./message";
import { useEnds } from "./post";
import { Progress } from "./progress";
import { ApprovalCard, Ending, RecoveryCard, Reply } from "./prompts";
import { ReadersCard, ShareButton, SharedList, SharePlanCard, WriterBanner } from "./sharing";
import { ServerCard, SetUp } from "./setup";
import type { State } from "./state";
import { visible } from "./visible";
import { WindowBar } from "./window_bar";

export function App({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const typed = useRef<Typed>({ text: "", n: 0 });
    const title = state.conversation === undefined ? "New conversation" : titleOf(state.conversation);
    return (
        <main class="panel" data-testid="panel" data-phase={state.server.phase} onDragOver={(event) => event.preventDefault()} onDrop={(event) => { drop(event, (uris) => post({ type: "attachFiles", uris })); }}>
            <p class="hidden" role="status" aria-live="polite" data-testid="announcement">{visible(state.announcement)}</p>
            {(state.page === "chat" || state.page === "shared") && <header class="top">
                <h1 title={title}>{title}</h1>
                <ShareButton state={state} />
                <button type="button" class="small" onClick={() => { post({ type: "listConversations" }); dispatch({ type: "goTo", page: "conversations" }); }} data-testid="list">Conversations</button>
                <button type="button" class="small" onClick={() => { post({ type: "listFacts" }); dispatch({ type: "goTo", page: "facts" }); }} data-testid="list-facts">Facts</button>
                <button type="button" class="small" onClick={() => post({ type: "newConversation" })} data-testid="new-conversation">New</button>
            </header>}
            {state.server.phase !== "ready" && state.server.sentence !== "" && <ServerCard server={state.server} />}
            {state.notice !== undefined && <section class={`card notice ${state.notice.level}`} data-testid="notice"><p>{visible(state.notice.text)}</p><button type="button" class="small" onClick={() => dispatch({ type: "dismiss", what: "notice" })}>Dismiss</button></section>}
            {state.page === "conversations" && <Conversations state={state} />}
            {state.page === "shared" && <SharedList state={state} />}
            {state.page === "context" && <Explain state={state} />}
            {state.page === "facts" && <FactsPage state={state} />}
            {state.page === "chat" && <Chat state={state} typed={typed.current} />}
        </main>
    );
}

function Chat({ state, typed }: { readonly state: State; readonly typed: Typed }) {
    const approvals = useRef<HTMLDivElement>(null);
    const n = state.approvals.length;
    useEffect(() => {
        // A question is answered by keyboard at once, unless something is being typed.
        if (n > 0 && document.activeElement?.tagName !== "TEXTAREA") {
            approvals.current?.querySelector("button")?.focus();
        }
    }, [n]);
    return (
        <>
            {state.recovery.map((answer) => <RecoveryCard key={answer.turnId} answer={answer} />)}
            <MessageList state={state} after={<><Ending state={state} /><Reply state={state} />{state.total === 0 && state.live === undefined && <p class="state welcome">Ask about this folder. What you say is kept, and older talk becomes summaries whose originals stay readable.</p>}<SetUp state={state} /></>}>
                {state.live !== undefined && <LiveAnswer live={state.live} isAsked={state.live.turnId !== undefined && state.messages.has(state.live.fromMessage - 1)} />}
            </MessageList>
            <div ref={approvals}>{state.approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} />)}</div>
            <SharePlanCard state={state} />
            <ReadersCard state={state} />
            <WriterBanner state={state} />
            <Progress text={state.progress} />
            <StaleLine stale={staleCount(state.memory.stale)} hidden={state.memory.hiddenStale} />
            {state.usage !== undefined && <WindowBar usage={state.usage} />}
            <Composer state={state} typed={typed} />
        </>
    );
}

/** Files from the editor's explorer (with Shift held, as VS Code wants it) or from elsewhere, as URIs. */
function drop(event: DragEvent, attach: (uris: string[]) => void): void {
    event.preventDefault();
    const data = event.dataTransfer;
    const list = data?.getData("application/vnd.code.uri-list") || data?.getData("text/uri-list") || "";
    const uris = list.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#")).slice(0, 50);
    if (uris.length > 0) {
        attach(uris);
    }
}
