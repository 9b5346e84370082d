/** Pictures: what is pasted or dropped into the composer, and those of messages, which are read when they are seen. */
import { useEffect, useState } from "preact/hooks";

import type { FromHost, FromView } from "../messages";
import type { MessagePart } from "../protocol.gen";
import { CHAT } from "../texts";
import { useEnds } from "./post";
import { visible } from "./visible";

/** The largest file, as the server has it. */
const MAX_BYTES = 20 * 1024 * 1024;
const THUMBNAIL_PX = 96;

type Found = Extract<FromHost, { type: "picture" }>;

/** The pictures in what is pasted or dropped. */
export function picturesIn(given: DataTransfer | null): File[] {
    return [...(given?.files ?? [])].filter((each) => each.type.startsWith("image/") && each.type !== "image/svg+xml");
}

/** Whether pictures hover over the field; what files they are is not told before they are dropped. */
export function hasPictures(given: DataTransfer | null): boolean {
    return [...(given?.items ?? [])].some((each) => each.kind === "file" && each.type.startsWith("image/"));
}

/** Hands pictures over to the host, each with a small one for its chip. Those over the limit are left to be refused by name. */
export async function attach(files: readonly File[], post: (message: FromView) => void): Promise<void> {
    for (const file of files) {
        const data = file.size > MAX_BYTES ? "" : base64(new Uint8Array(await file.arrayBuffer()));
        const thumbnail = await small(file);
        post({ type: "attachPicture", name: file.name === "" ? "picture" : file.name, data, ...(thumbnail === undefined ? {} : { thumbnail }) });
    }
}

function base64(bytes: Uint8Array): string {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32_768) {
        text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
    }
    return btoa(text);
}

/** A small picture as a data URL; undefined for what no browser can draw. */
async function small(file: File): Promise<string | undefined> {
    try {
        const whole = await createImageBitmap(file);
        const scale = Math.min(1, THUMBNAIL_PX / Math.max(whole.width, whole.height));
        const canvas = document.createElement("canvas");
        canvas.width = Math.max(1, Math.round(whole.width * scale));
        canvas.height = Math.max(1, Math.round(whole.height * scale));
        canvas.getContext("2d")?.drawImage(whole, 0, 0, canvas.width, canvas.height);
        whole.close();
        return canvas.toDataURL("image/png");
    } catch {
        return undefined;
    }
}

const known = new Map<string, Found>();
const waiting = new Map<string, Set<(found: Found) => void>>();
const MOST_KEPT = 40;

/** What the host read. */
export function take(found: Found): void {
    known.delete(found.digest);
    known.set(found.digest, found);
    for (const digest of [...known.keys()].slice(0, Math.max(0, known.size - MOST_KEPT))) {
        known.delete(digest);
    }
    waiting.get(found.digest)?.forEach((tell) => { tell(found); });
    waiting.delete(found.digest);
}

/** A picture of a message, or its name where its bytes are not here. */
export function Picture({ part }: { readonly part: MessagePart }) {
    const { post } = useEnds();
    const digest = part.digest ?? "";
    const [found, setFound] = useState(known.get(digest));
    useEffect(() => {
        if (known.has(digest)) {
            setFound(known.get(digest));
            return undefined;
        }
        const listeners = waiting.get(digest) ?? new Set();
        if (listeners.size === 0) {
            post({ type: "readPicture", digest });
        }
        listeners.add(setFound);
        waiting.set(digest, listeners);
        return () => { listeners.delete(setFound); };
    }, [digest]);
    const name = visible(part.name ?? "");
    return (
        <figure class="picture" data-testid="picture">
            {found?.url === undefined ? <span class="chip" title={found === undefined ? "" : CHAT.pictureIsElsewhere}>{visible(part.text ?? name)}</span> : <img src={found.url} alt={name} title={name} />}
        </figure>
    );
}
