/** The panel. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { FromView } from "../messages";
import { CHAT, COMPOSER, COSTS, ENDINGS, HISTORY, MORE, START } from "../texts";
import { Composer, type Typed } from "./composer";
import { Explain } from "./context";
import { Conversations } from "./conversations";
import { FactsPage } from "./facts";
import { hasFiles, receive } from "./given";
import { StaleLine } from "./layer";
import { MessageList } from "./list";
import { MenuButton, Menus } from "./menu";
import { staleCount } from "./memory";
import { LiveAnswer } from "./message";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { Progress } from "./progress";
import { ApprovalCard, Ending, RecoveryCard, Reply } from "./prompts";
import { ReadersCard, ShareButton, SharedList, SharePlanCard, WriterBanner } from "./sharing";
import { ServerCard, SetUp } from "./setup";
import type { State } from "./state";
import { Title } from "./title";
import { visible } from "./visible";
import { Strip } from "./window_bar";

export function App({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const typed = useRef<Typed>({ text: "", n: 0 });
    const { isOver, ...drop } = useDrop();
    return (
        <main class="panel" data-testid="panel" data-phase={state.server.phase} {...drop}>
            <Menus>
            <p class="sr" role="status" aria-live="polite" data-testid="announcement">{visible(state.announcement)}</p>
            {(state.page === "chat" || state.page === "shared") && <header class="head">
                <Title state={state} />
                <ShareButton state={state} />
                <IconButton icon="add" name={CHAT.new} onClick={() => post({ type: "newConversation" })} testId="new-conversation" />
                <IconButton icon="history" name={CHAT.conversations} onClick={() => { post({ type: "listConversations" }); dispatch({ type: "goTo", page: "conversations" }); }} testId="list" />
                <IconButton icon="bookmark" name={CHAT.facts} onClick={() => { post({ type: "listFacts" }); dispatch({ type: "goTo", page: "facts" }); }} testId="list-facts" />
                <More state={state} />
            </header>}
            {state.usage !== undefined && state.page === "chat" && <Strip usage={state.usage} />}
            {state.server.phase !== "ready" && state.server.sentence !== "" && <ServerCard server={state.server} />}
            {state.notice !== undefined && <Notice notice={state.notice} />}
            {state.page === "conversations" && <Conversations state={state} />}
            {state.page === "shared" && <SharedList state={state} />}
            {state.page === "context" && <Explain state={state} />}
            {state.page === "facts" && <FactsPage state={state} />}
            {state.page === "chat" && <Chat state={state} typed={typed.current} isOver={isOver} />}
            </Menus>
        </main>
    );
}

/** Files may be dropped anywhere in the panel, with Shift held, as VS Code wants it. `isOver`: some hover over it. */
function useDrop() {
    const ends = useEnds();
    const [isOver, setOver] = useState(false);
    return {
        isOver,
        onDragOver: (event: DragEvent) => {
            if (hasFiles(event.dataTransfer)) {
                event.preventDefault();
                setOver(true);
            }
        },
        onDragLeave: (event: DragEvent) => {
            if (!(event.currentTarget instanceof Node && event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget))) {
                setOver(false);
            }
        },
        onDrop: (event: DragEvent) => {
            setOver(false);
            if (hasFiles(event.dataTransfer)) {
                event.preventDefault();
                ends.dispatch({ type: "goTo", page: "chat" });
                receive(event.dataTransfer, ends);
            }
        },
    };
}

const LEVELS = { info: "info", warning: "warn", error: "bad" } as const;

/** What happened outside of the conversation. One with an offer stays until it is answered. */
function Notice({ notice }: { readonly notice: NonNullable<State["notice"]> }) {
    const { post, dispatch } = useEnds();
    const dismiss = () => dispatch({ type: "dismiss", what: "notice" });
    const offer = (message: FromView) => () => { dismiss(); post(message); };
    return (
        <section class={`notice ${LEVELS[notice.level]}`} data-testid="notice">
            <Icon name={notice.level} />
            <div class="body"><p>{visible(notice.text)}</p></div>
            <IconButton icon="close" name={ENDINGS.dismiss} onClick={dismiss} />
            {notice.about === "budget" && (
                <div class="do">
                    <button type="button" class="text-btn" onClick={offer({ type: "explain" })}>{COSTS.whatItCost}</button>
                    <button type="button" class="text-btn" onClick={offer({ type: "changeBudget" })}>{COSTS.changeBudget}</button>
                </div>
            )}
        </section>
    );
}

/** What is done less often, or has its place elsewhere as well. */
function More({ state }: { readonly state: State }) {
    const { post, dispatch } = useEnds();
    const { conversation } = state;
    const id = conversation?.conversationId;
    const isBegun = conversation !== undefined && id !== undefined;
    return (
        <MenuButton name={CHAT.more} icon="ellipsis" testId="more" choices={[
            { label: COMPOSER.seesWhat, icon: "graph", onPick: () => post({ type: "explain" }) },
            isBegun && { label: COMPOSER.summarizeNow, icon: "fold", onPick: () => post({ type: "summarize" }) },
            isBegun && { label: MORE.undo, icon: "discard", onPick: () => post({ type: "undo" }) },
            isBegun && { label: MORE.redo, icon: "redo", onPick: () => post({ type: "redo" }) },
            isBegun && { label: MORE.rename, icon: "edit", beginsGroup: true, onPick: () => post({ type: "rename", conversationId: id }) },
            isBegun && state.total > 0 && { label: MORE.fork, icon: "repo-forked", onPick: () => post({ type: "fork" }) },
            isBegun && { label: conversation.isArchived ? HISTORY.takeOut : HISTORY.archive, icon: "archive", onPick: () => post({ type: "archive", conversationId: id, isArchived: !conversation.isArchived }) },
            isBegun && { label: HISTORY.delete, icon: "trash", onPick: () => { post({ type: "listConversations" }); dispatch({ type: "goTo", page: "conversations" }); post({ type: "planDeletion", conversationId: id }); } },
            { label: MORE.model, icon: "chip", beginsGroup: true, onPick: () => post({ type: "pickModel" }) },
            { label: MORE.key, icon: "key", onPick: () => post({ type: "setUp" }) },
            { label: START.showLog, icon: "output", beginsGroup: true, onPick: () => post({ type: "showLog" }) },
        ]} />
    );
}

function Chat({ state, typed, isOver }: { readonly state: State; readonly typed: Typed; readonly isOver: boolean }) {
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
            <MessageList state={state} after={<>{state.recovery.filter((answer) => state.conversation === undefined || answer.conversationId === state.conversation.conversationId).map((answer) => <RecoveryCard key={answer.turnId} answer={answer} />)}<Ending state={state} /><Reply state={state} />{state.total === 0 && state.live === undefined && state.server.phase !== "stopped" && <Welcome around={state.around}><SetUp state={state} /></Welcome>}{state.total > 0 && <SetUp state={state} />}</>}>
                {state.live !== undefined && <LiveAnswer live={state.live} model={state.usage?.model ?? state.conversation?.model} isAsked={state.live.turnId !== undefined && state.messages.has(state.live.fromMessage - 1)} />}
            </MessageList>
            <div ref={approvals}>{state.approvals.slice(0, 1).map((approval) => <ApprovalCard key={approval.id} approval={approval} place={n > 1 ? `1/${n}` : ""} />)}</div>
            <SharePlanCard state={state} />
            <ReadersCard state={state} />
            <WriterBanner state={state} />
            <Progress text={state.progress} />
            <StaleLine stale={staleCount(state.memory.stale)} hidden={state.memory.hiddenStale} />
            <Composer state={state} typed={typed} isOver={isOver} />
        </>
    );
}

/** Before the first message. */
function Welcome({ around, children }: { readonly around: State["around"]; readonly children: ComponentChildren }) {
    const { post } = useEnds();
    return (
        <div class="welcome">
            <div>
                <div class="mark" aria-hidden="true"><span /><span /><span /></div>
                <h2>{CHAT.emptyTitle}</h2>
                <p class="lead">{CHAT.emptyLead}</p>
            </div>
            {children}
            <div class="starters">
                {startersOf(around).map(({ icon, shown: { text, why }, sent }) => <button key={icon} type="button" class="starter" onClick={() => post({ type: "send", text: sent ?? text })}><Icon name={icon} /><span>{text}<span class="why">{why}</span></span></button>)}
            </div>
        </div>
    );
}

interface Starter {
    readonly icon: string;
    readonly shown: { readonly text: string; readonly why: string };
    /** Absent: what is shown. */
    readonly sent?: string;
}

/** First questions, by what the editor shows. A mention of a file ends at a blank. */
function startersOf({ file, errors }: State["around"]): Starter[] {
    return [
        { icon: "compass", shown: CHAT.project },
        file === undefined || /\s/.test(file) ? { icon: "file-code", shown: CHAT.reading } : { icon: "file-code", shown: CHAT.explain(visible(file.split("/").at(-1) ?? file)), sent: CHAT.explain(`@${file}`).text },
        errors === 0 ? { icon: "beaker", shown: CHAT.tested } : { icon: "error", shown: CHAT.help(CHAT.errors(errors)), sent: CHAT.help("@problems").text },
    ];
}
