/** The program of the panel: state in, elements out. Deltas of a stream are painted once a frame. */
import { render } from "preact";

import { readFromHost, type FromHost, type FromView } from "../messages";
import { listen } from "./actions";
import { App } from "./app";
import { Coalescer } from "./coalesce";
import { EndsContext } from "./post";
import { INITIAL, reduce, type Local, type State } from "./state";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const host = acquireVsCodeApi();
const post = (message: FromView) => {
    host.postMessage(message);
};

const root = document.createElement("div");
root.id = "root";
document.body.append(root);
listen(root, post);

let state: State = INITIAL;
const ends = { post, dispatch: (message: Local) => { update([message]); } };

function update(messages: ReadonlyArray<FromHost | Local>): void {
    state = messages.reduce(reduce, state);
    render(<EndsContext.Provider value={ends}><App state={state} /></EndsContext.Provider>, root);
}

const coalescer = new Coalescer<FromHost>(
    // A hidden panel paints no frames and must not pile up what comes meanwhile.
    (frame) => { if (document.hidden) { setTimeout(frame, 100); } else { requestAnimationFrame(frame); } },
    update,
);

window.addEventListener("message", (event: MessageEvent<unknown>) => {
    const message = readFromHost(event.data);
    if (message !== undefined) {
        coalescer.add(message);
    }
});

update([]);
post({ type: "ready" });
