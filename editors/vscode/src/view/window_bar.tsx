/** How full the model's window is: the strip under the header shows it, the ring in the composer is its control. */
import { useEffect, useRef, useState } from "preact/hooks";

import type { ContextUsage, CostsResult } from "../protocol.gen";
import { COMPOSER, CONTEXT } from "../texts";
import { describeShare, nameOf, shares, type Share } from "./bar";
import { CostSums } from "./cost_cards";
import { short } from "./figures";
import { useEnds } from "./post";

/** The class of a kind's color. */
const CLASSES: Readonly<Record<string, string>> = { pins: "k-rules", injections: "k-recalled", overhead: "k-tools", margin: "k-reserve" };
const classOf = (share: Share) => CLASSES[share.kind] ?? `k-${share.kind}`;

export function Strip({ usage }: { readonly usage: ContextUsage }) {
    const all = shares(usage);
    return (
        <div class="strip" role="img" aria-label={`${CONTEXT.window} ${usage.compact}`} title={all.map(describeShare).join("\n")}>
            {all.map((share) => <span key={share.kind} class={`fill ${classOf(share)}`} style={{ flexGrow: share.percent }} />)}
        </div>
    );
}

/** What no request takes. */
const UNUSED: ReadonlySet<string> = new Set(["free", "reserve", "margin"]);

/** So many kinds are named; the others are one line. */
const NAMED = 3;

function largest(usage: ContextUsage): Array<{ readonly name: string; readonly kind: string; readonly tokens: number }> {
    const all = shares(usage).filter((each) => !UNUSED.has(each.kind)).sort((a, b) => b.tokens - a.tokens);
    const rest = all.slice(NAMED).reduce((sum, each) => sum + each.tokens, 0);
    return [...all.slice(0, NAMED).map((each) => ({ name: nameOf(each.kind), kind: classOf(each), tokens: each.tokens })), ...(rest > 0 ? [{ name: COMPOSER.everythingElse, kind: "k-tools", tokens: rest }] : [])];
}

const RADIUS = 6;
const ROUND = 2 * Math.PI * RADIUS;

export function Ring({ usage, costs }: { readonly usage: ContextUsage; readonly costs: CostsResult | undefined }) {
    const { post } = useEnds();
    const [isOpen, setOpen] = useState(false);
    const card = useRef<HTMLDivElement>(null);
    const percent = Math.round(usage.percentage);
    useEffect(() => {
        if (!isOpen) {
            return;
        }
        post({ type: "costs" });
        card.current?.querySelector("button")?.focus();
        const close = (event: Event) => {
            const isInside = event.target instanceof Node && card.current?.parentElement?.contains(event.target) === true;
            if (event instanceof KeyboardEvent ? event.key === "Escape" : !isInside) {
                setOpen(false);
            }
        };
        document.addEventListener("keydown", close);
        document.addEventListener("pointerdown", close);
        return () => {
            document.removeEventListener("keydown", close);
            document.removeEventListener("pointerdown", close);
        };
    }, [isOpen]);
    const does = (type: "explain" | "summarize") => () => {
        setOpen(false);
        post({ type });
    };
    return (
        <span class="ring-place">
            <button type="button" class={`ring ${usage.severity}${isOpen ? " is-on" : ""}`} aria-haspopup="dialog" aria-expanded={isOpen} title={`${COMPOSER.seesWhat}: ${usage.compact}`} onClick={() => setOpen(!isOpen)} data-testid="window-bar" data-severity={usage.severity}>
                <svg viewBox="0 0 16 16" aria-hidden="true">
                    <circle class="track" cx="8" cy="8" r={RADIUS} />
                    <circle class="arc" cx="8" cy="8" r={RADIUS} stroke-dasharray={`${(ROUND * Math.min(100, percent)) / 100} ${ROUND}`} />
                </svg>
                <span class="sr">{CONTEXT.window} </span>{percent}%<span class="sr">, </span><span class="sr compact">{usage.compact}</span>
            </button>
            {isOpen && (
                <div class="pop small" role="dialog" aria-label={CONTEXT.window} ref={card}>
                    <div class="figure"><b>{short(usage.usedTokens)}</b> <span class="muted">{COMPOSER.of} {short(usage.budgetTokens)} {COMPOSER.tokens} · {percent}%</span></div>
                    <div class="stack" aria-hidden="true"><div class="cells">{shares(usage).map((share) => <span key={share.kind} class={`fill ${classOf(share)}`} style={{ flexGrow: share.percent }} />)}</div></div>
                    <ul class="plain legend">
                        {largest(usage).map(({ name, kind, tokens }) => <li key={name}><span class={`swatch fill ${kind}`} /><span>{name}</span><span class="num">{short(tokens)}</span></li>)}
                    </ul>
                    <p class="muted">{COMPOSER.summarizedAt}</p>
                    {costs !== undefined && <CostSums costs={costs} />}
                    <div class="do">
                        <button type="button" class="text-btn" onClick={does("explain")} data-testid="sees-what">{COMPOSER.seesWhat}</button>
                        {usage.messageCount > 0 && <button type="button" class="text-btn" onClick={does("summarize")}>{COMPOSER.summarizeNow}</button>}
                    </div>
                </div>
            )}
        </span>
    );
}
