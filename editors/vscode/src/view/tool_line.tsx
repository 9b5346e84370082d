/** A tool's call as one line that opens, and the model's thinking. */
import { useState } from "preact/hooks";

import { TOOLS } from "../texts";
import { Icon } from "./page_head";
import { lookOf, outcomeOf, targetOf } from "./tool_lines";
import { boundLines, visible } from "./visible";

/** Of a tool's arguments or result. */
const SHOWN = 20_000;

export interface ToolCall {
    readonly name: string;
    readonly arguments: string;
    /** Undefined: it is not there yet, or not any more. */
    readonly result?: string | undefined;
    readonly isError?: boolean | undefined;
    readonly isRunning?: boolean | undefined;
}

export function ToolLine({ call }: { readonly call: ToolCall }) {
    const look = lookOf(call.name);
    const target = targetOf(call.name, call.arguments);
    const isBad = call.isError === true;
    const verb = call.isRunning === true ? look.running : isBad ? TOOLS.failed : look.done;
    return (
        <Folded class={`tool${isBad ? " is-bad" : ""}`} text={`${call.arguments}${call.result === undefined ? "" : `\n\n${call.result}`}`} name={`${visible(call.name)}`}>
            <Icon name={call.isRunning === true ? "loading" : isBad ? "error" : look.icon} spin={call.isRunning === true} />
            <span class="verb">{verb}</span>
            <span class="target">
                {target.isCode ? <code>{target.text}</code> : <span class="file">{target.text}</span>}
                {target.folder !== "" && <span class="dir">{target.folder}</span>}
            </span>
            {call.result !== undefined && <span class="out">{outcomeOf(call.name, call.result)}</span>}
        </Folded>
    );
}

export function Thinking({ text, isRunning = false }: { readonly text: string; readonly isRunning?: boolean }) {
    const last = visible(text.slice(-160)).replaceAll(/\s+/g, " ");
    return (
        <Folded class="tool think" text={text} name={TOOLS.thought}>
            <Icon name={isRunning ? "loading" : "lightbulb"} spin={isRunning} />
            <span class="verb">{isRunning ? TOOLS.thinking : TOOLS.thought}</span>
            {isRunning && <span class="target"><span class="dir">{last}</span></span>}
        </Folded>
    );
}

/** What was attached, and parts that a later version may send. */
export function Attached({ icon, title, text }: { readonly icon: string; readonly title: string; readonly text: string }) {
    return <Folded class="tool" text={text} name={title}><Icon name={icon} /><span class="target"><span class="file">{title}</span></span></Folded>;
}

/** What is read on demand only: it is no element before it is opened. */
function Folded({ text, name, class: kind, children }: { readonly text: string; readonly name: string; readonly class: string; readonly children: preact.ComponentChildren }) {
    const [isOpen, setOpen] = useState(false);
    const shown = isOpen ? boundLines(visible(text.slice(0, SHOWN)), 2_000) : "";
    return (
        <details class={`${kind} folded`} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary title={name}>{children}<Icon name="chevron-right turn-arrow" /></summary>
            {isOpen && <div class="inside"><pre tabIndex={0}>{shown}{text.length > SHOWN ? `\n… (${(text.length - SHOWN).toLocaleString("en")} more characters)` : ""}</pre></div>}
        </details>
    );
}
