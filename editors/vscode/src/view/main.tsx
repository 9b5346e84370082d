/** The program of the panel: state in, elements out. Deltas of a stream are painted once a frame, and less often while somebody types. */
import { render } from "preact";

import { readFromHost, type FromHost, type FromView } from "../messages";
import { listen } from "./actions";
import { App } from "./app";
import { Coalescer } from "./coalesce";
import { Pace } from "./pace";
import { oneByOne } from "./painting";
import { take } from "./pictures";
import { EndsContext } from "./post";
import { INITIAL, reduce, type Local, type State } from "./state";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const host = acquireVsCodeApi();
/** What the panel asks by itself, or while somebody types. */
const BY_ITSELF: ReadonlySet<FromView["type"]> = new Set(["ready", "read", "draft", "complete", "costs"]);
const post = (message: FromView) => {
    if (state.notice !== undefined && !BY_ITSELF.has(message.type)) {
        update([{ type: "acted" }]);
    }
    host.postMessage(message);
};

const root = document.createElement("div");
root.id = "root";
document.body.append(root);
listen(root, post);

let state: State = INITIAL;
const ends = { post, dispatch: (message: Local) => { update([message]); } };

const paint = oneByOne(() => {
    render(<EndsContext.Provider value={ends}><App state={state} /></EndsContext.Provider>, root);
});

function update(messages: ReadonlyArray<FromHost | Local>): void {
    state = messages.reduce(reduce, state);
    paint();
}

const pace = new Pace({
    now: () => performance.now(),
    isHidden: () => document.hidden,
    beforePaint: (callback) => { requestAnimationFrame(callback); },
    // Not every browser that VS Code runs in has idle time.
    whenIdle: (callback, timeout) => { if (typeof requestIdleCallback === "function") { requestIdleCallback(callback, { timeout }); } else { setTimeout(callback); } },
    after: (callback, ms) => { setTimeout(callback, ms); },
});
const coalescer = new Coalescer<FromHost>((callback) => { pace.next(callback); }, update);

document.addEventListener("keydown", () => { pace.typed(); }, true);
window.addEventListener("message", (event: MessageEvent<unknown>) => {
    const message = readFromHost(event.data);
    if (message?.type === "picture") {
        take(message);
    } else if (message !== undefined) {
        coalescer.add(message);
        if (message.type !== "deltas") {
            pace.hurry();
        }
    }
});

update([]);
post({ type: "ready" });
