/** How full the model's window is, above the composer. */
import type { ContextUsage } from "../protocol.gen";
import { describeShare, shares } from "./bar";
import { useEnds } from "./post";

export function WindowBar({ usage }: { readonly usage: ContextUsage }) {
    const { post } = useEnds();
    const all = shares(usage);
    return (
        <button type="button" class={`window-bar ${usage.severity}`} onClick={() => post({ type: "explain" })} aria-label={`Context ${usage.compact}. Explain`} title={all.map(describeShare).join("\n")} data-testid="window-bar" data-severity={usage.severity}>
            <span class="bar" aria-hidden="true">
                {all.map((share) => <span key={share.kind} class={`share kind-${share.kind}`} style={{ flexGrow: share.percent }} title={describeShare(share)} />)}
            </span>
            <span class="compact">{usage.compact}</span>
        </button>
    );
}
