/** Whether a server speaks the protocol this extension was built for, and what to do when it does not. */

/** PROTOCOL.md, `capabilities.experimental.palimpsest`. */
export const PROTOCOL_VERSION = 1;

/** A sentence for the user when the server cannot be used; undefined when it can. `experimental`: what it announced. */
export function explainMismatch(experimental: unknown): string | undefined {
    const announced = dig(dig(experimental, "palimpsest"), "version");
    if (announced === PROTOCOL_VERSION) {
        return undefined;
    }
    if (typeof announced !== "number") {
        return "The program that was started is not a Palimpsest server. Check the setting palimpsest.server.path.";
    }
    return announced > PROTOCOL_VERSION
        ? `The server speaks version ${announced} of the protocol and this extension version ${PROTOCOL_VERSION}. Update the extension, or point palimpsest.server.path to an older server.`
        : `The server speaks version ${announced} of the protocol and this extension version ${PROTOCOL_VERSION}. Update the package palimpsest-ls that palimpsest.server.path or palimpsest.server.python leads to.`;
}

function dig(value: unknown, key: string): unknown {
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
