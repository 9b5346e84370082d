/** The pictures of messages, which are read when they are seen. */
import { useEffect, useState } from "preact/hooks";

import type { FromHost } from "../messages";
import type { MessagePart } from "../protocol.gen";
import { CHAT } from "../texts";
import { useEnds } from "./post";
import { visible } from "./visible";

type Found = Extract<FromHost, { type: "picture" }>;

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
