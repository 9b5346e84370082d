/** The title of the conversation, which is edited in place. */
import { useEffect, useRef, useState } from "preact/hooks";

import { HISTORY, RENAME_HINT, TITLE_NAME } from "../texts";
import { titleOf } from "./conversations";
import { Icon } from "./page_head";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

/** Click or F2 edits it, Enter keeps what was typed, Escape leaves it as it was. */
export function Title({ state }: { readonly state: State }) {
    const { post } = useEnds();
    const { conversation } = state;
    const [edited, setEdited] = useState<string | undefined>(undefined);
    const field = useRef<HTMLInputElement>(null);
    const conversationId = conversation?.conversationId;
    const title = conversation === undefined ? HISTORY.new : titleOf(conversation);
    useEffect(() => {
        setEdited(undefined);
        const onKeyDown = (event: KeyboardEvent) => {
            if (event.key === "F2" && conversationId !== undefined) {
                event.preventDefault();
                setEdited(title);
            }
        };
        document.addEventListener("keydown", onKeyDown);
        return () => {
            document.removeEventListener("keydown", onKeyDown);
        };
    }, [conversationId, title]);
    const isEdited = edited !== undefined;
    useEffect(() => {
        field.current?.select();
    }, [isEdited]);
    if (edited === undefined || conversationId === undefined) {
        const sign = conversation?.parentId === undefined ? null : <Icon name="repo-forked" />;
        return (
            <h1 class="ellipsis">
                {conversationId === undefined
                    ? <span class="title"><span class="ellipsis">{title}</span></span>
                    : <button type="button" class="title" title={`${visible(title)} — ${RENAME_HINT}`} aria-label={visible(title)} onClick={() => setEdited(title)} data-testid="title">{sign}<span class="ellipsis">{visible(title)}</span><i class="codicon codicon-edit pencil" aria-hidden="true" /></button>}
            </h1>
        );
    }
    const keep = () => {
        const name = edited.trim();
        setEdited(undefined);
        if (name !== "" && name !== title) {
            post({ type: "rename", conversationId, title: name });
        }
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.key === "Enter" && !event.isComposing) {
            keep();
        } else if (event.key === "Escape") {
            event.stopPropagation();
            setEdited(undefined);
        }
    };
    return <input ref={field} type="text" aria-label={TITLE_NAME} value={edited} maxLength={200} onInput={(event) => setEdited(event.currentTarget.value)} onKeyDown={onKeyDown} onBlur={keep} data-testid="title-field" />;
}
