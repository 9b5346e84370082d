/** Whether a server speaks the protocol this extension was built for, and what to do when it does not. */
import { START } from "../texts";

/** PROTOCOL.md, `capabilities.experimental.palimpsest`. */
export const PROTOCOL_VERSION = 1;

/** A sentence for the user when the server cannot be used; undefined when it can. `experimental`: what it announced. */
export function explainMismatch(experimental: unknown): string | undefined {
    const announced = dig(dig(experimental, "palimpsest"), "version");
    if (announced === PROTOCOL_VERSION) {
        return undefined;
    }
    if (typeof announced !== "number") {
        return START.notOurs;
    }
    return announced > PROTOCOL_VERSION ? START.tooNew(announced, PROTOCOL_VERSION) : START.tooOld(announced, PROTOCOL_VERSION);
}

function dig(value: unknown, key: string): unknown {
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
