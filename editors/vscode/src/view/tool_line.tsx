/** A tool's call as one line that opens, and the model's thinking. */
import { useState } from "preact/hooks";

import { CHAT, CODE, TOOLS } from "../texts";
import { Icon } from "./page_head";
import { changeOf, isKeptBack, lookOf, outcomeOf, targetOf, wasRefused } from "./tool_lines";
import { isRun, runsOf, type Line } from "./tool_runs";
import { boundLines, visible } from "./visible";
import { useSeconds } from "./waiting";

/** Of a tool's arguments or result. */
const SHOWN = 20_000;

export interface ToolCall {
    readonly name: string;
    readonly arguments: string;
    /** The newest of what it wrote so far. */
    readonly output?: string | undefined;
    /** Undefined: it is not there yet, or not any more. */
    readonly result?: string | undefined;
    readonly isError?: boolean | undefined;
    readonly isRunning?: boolean | undefined;
}

/** Calls that stand behind each other. */
export function ToolCalls({ calls }: { readonly calls: readonly ToolCall[] }) {
    return <div class="steps">{runsOf(calls).map((line, index) => <RunLine key={index} line={line} />)}</div>;
}

function RunLine({ line }: { readonly line: Line }) {
    const [isOpen, setOpen] = useState(false);
    if (!isRun(line)) {
        return <ToolLine call={line} />;
    }
    return (
        <details class="tool run" onToggle={(event) => { if (event.target === event.currentTarget) { setOpen(event.currentTarget.open); } }}>
            <summary>
                <Icon name={line.icon} />
                <span class="verb">{line.verb}</span>
                <span class="target"><span class="file">{line.what}</span></span>
                {line.nFailed > 0 ? <span class="out bad">{line.nFailed} {TOOLS.failedOf}</span> : line.nLines > 0 && <span class="out">{line.nLines.toLocaleString("en")} {TOOLS.lines}</span>}
                <Icon name="chevron-right turn-arrow" />
            </summary>
            {isOpen && <div class="inside">{line.calls.map((each, index) => <RunLine key={index} line={each} />)}</div>}
        </details>
    );
}

function ToolLine({ call }: { readonly call: ToolCall }) {
    const look = lookOf(call.name);
    const target = targetOf(call.name, call.arguments);
    const isRefused = wasRefused(call);
    const isBack = isKeptBack(call);
    const isBad = call.isError === true && !isRefused && !isBack;
    const change = isBad || isRefused || call.isRunning === true ? undefined : changeOf(call.name, call.arguments);
    const told = call.result ?? call.output ?? "";
    const newest = call.result === undefined ? newestLine(call.output ?? "") : "";
    const verb = call.isRunning === true ? look.running : isRefused ? TOOLS.notRun : isBad ? TOOLS.failed : look.done;
    return (
        <Folded class={`tool${isBad ? " is-bad" : isBack ? " is-no" : ""}`} text={`${call.arguments}${told === "" ? "" : `\n\n${told}`}`} name={`${visible(call.name)}`}>
            <Icon name={call.isRunning === true ? "loading" : isRefused ? "circle-slash" : isBack ? "eye-closed" : isBad ? "error" : look.icon} spin={call.isRunning === true} />
            <span class="verb">{verb}</span>
            <span class="target">
                {target.isCode ? <code>{target.text}</code> : <span class="file">{target.text}</span>}
                {newest !== "" && <span class="dir">{newest}</span>}
                {newest === "" && target.folder !== "" && <span class="dir">{target.folder}</span>}
            </span>
            {call.result !== undefined && <span class="out">{isRefused ? TOOLS.saidNo : isBack ? TOOLS.refused : change === undefined ? outcomeOf(call) : <><span class="add-n">+{change.added}</span> <span class="del-n">−{change.removed}</span></>}</span>}
        </Folded>
    );
}

/** The last line with words. */
const newestLine = (written: string): string => visible(written.slice(-1_000).trimEnd().split(/[\r\n]/).at(-1)?.slice(0, 160) ?? "").trim();

export function Thinking({ text, isRunning = false }: { readonly text: string; readonly isRunning?: boolean }) {
    const last = visible(text.slice(-160)).replaceAll(/\s+/g, " ");
    return (
        <Folded class="tool think" text={text} name={TOOLS.thought}>
            <Icon name={isRunning ? "loading" : "lightbulb-sparkle"} spin={isRunning} />
            <span class="verb">{isRunning ? TOOLS.thinking : TOOLS.thought}</span>
            {isRunning && <span class="target"><span class="dir">{last}</span></span>}
            {isRunning && <Seconds />}
        </Folded>
    );
}

function Seconds() {
    const seconds = useSeconds();
    return <span class="out seconds" aria-hidden="true">{seconds > 0 && `${seconds} s`}</span>;
}

/** What was attached, and parts that a later version may send. */
export function Attached({ icon, title, text }: { readonly icon: string; readonly title: string; readonly text: string }) {
    return <Folded class="tool" text={text} name={title}><Icon name={icon} /><span class="target"><span class="file">{title}</span></span></Folded>;
}

/** What was sent with a message, as it was then: a chip each, which shows the text. */
export function AttachedChips({ attached }: { readonly attached: ReadonlyArray<{ readonly name?: string; readonly text?: string }> }) {
    const [shown, setShown] = useState<number | undefined>(undefined);
    const text = shown === undefined ? undefined : attached[shown]?.text;
    return (
        <>
            <ul class="chips" aria-label={CHAT.attached}>
                {attached.map((each, index) => (
                    <li key={index}>
                        <button type="button" class="chip" aria-expanded={shown === index} title={visible(each.name ?? "")} onClick={() => setShown(shown === index ? undefined : index)}>
                            <Icon name={/:\d+(-\d+)?$/.test(each.name ?? "") ? "selection" : "file-code"} /><span class="ellipsis">{visible(each.name ?? "").split("/").at(-1)}</span>
                        </button>
                    </li>
                ))}
            </ul>
            {text !== undefined && <pre class="attached" tabIndex={0} aria-label={CHAT.attachedText}>{bounded(text)}</pre>}
        </>
    );
}

const bounded = (text: string): string => `${boundLines(visible(text.slice(0, SHOWN)), 2_000)}${text.length > SHOWN ? `\n… ${CODE.more((text.length - SHOWN).toLocaleString("en"))}` : ""}`;

/** What is read on demand only: it is no element before it is opened. */
function Folded({ text, name, class: kind, children }: { readonly text: string; readonly name: string; readonly class: string; readonly children: preact.ComponentChildren }) {
    const [isOpen, setOpen] = useState(false);
    return (
        <details class={`${kind} folded`} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary title={name}>{children}<Icon name="chevron-right turn-arrow" /></summary>
            {isOpen && <div class="inside"><pre tabIndex={0}>{bounded(text)}</pre></div>}
        </details>
    );
}
