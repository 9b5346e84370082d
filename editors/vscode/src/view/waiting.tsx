/** What is waited for: the model, and a service that asks for a pause. Seconds are seen and not read aloud. */
import { useEffect, useState } from "preact/hooks";

import type { Live } from "../messages";
import { WAITING } from "../texts";
import { Icon } from "./page_head";
import { useEnds } from "./post";
import { visible } from "./visible";

/** Whole seconds since the element came. */
export function useSeconds(): number {
    const [seconds, setSeconds] = useState(0);
    useEffect(() => {
        const start = performance.now();
        const timer = setInterval(() => {
            setSeconds(Math.round((performance.now() - start) / 1000));
        }, 1000);
        return () => {
            clearInterval(timer);
        };
    }, []);
    return seconds;
}

/** "gpt-4o is thinking, 4 s". */
export function Working({ model }: { readonly model: string | undefined }) {
    const seconds = useSeconds();
    return <p class="working"><Icon name="loading" spin /><span>{visible(model ?? WAITING.theModel)} {WAITING.isThinking}{seconds > 0 && <span class="num" aria-hidden="true">, {seconds} s</span>}</span></p>;
}

/** In the place of an answer that is asked for again after a pause. */
export function Pause({ pause }: { readonly pause: NonNullable<Live["pause"]> }) {
    const { post } = useEnds();
    const left = Math.max(0, Math.ceil(pause.ms / 1000) - useSeconds());
    const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    const wait = Math.ceil(pause.ms / 1000);
    return (
        <section class="notice warn" role="alert" data-testid="pause">
            <Icon name="watch" />
            <div class="body">
                <p><strong>{visible(pause.reason)}</strong></p>
                <p><span class="sr">{WAITING.againAfter(wait)}</span><span aria-hidden="true">{left === 0 ? WAITING.againNow : <>{pause.nFailed > 1 ? WAITING.nextIn(pause.nFailed) : WAITING.againIn} <b class="num">{clock}</b>.</>}</span></p>
            </div>
            <div class="do">
                <button type="button" class="btn second" onClick={() => post({ type: "retryNow" })}>{WAITING.tryNow}</button>
                <button type="button" class="btn second" onClick={() => { post({ type: "stop" }); post({ type: "pickModel" }); }}>{WAITING.switchModel}</button>
                <button type="button" class="text-btn" onClick={() => post({ type: "stop" })}>{WAITING.stop}</button>
            </div>
            <div class="bar-progress" aria-hidden="true"><span style={{ width: `${wait === 0 ? 100 : (100 * (wait - left)) / wait}%` }} /></div>
        </section>
    );
}
