/** The top of a page that lies over the conversation: the way back, its title, and what can be done on it. */
import type { ComponentChildren } from "preact";

import { HISTORY } from "../texts";
import { useEnds } from "./post";

export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }) {
    return <i class={`codicon codicon-${name}${spin ? " spin" : ""}`} aria-hidden="true" />;
}

/** A button that is only an icon. `name`: its tooltip, and what it is called. */
export function IconButton({ icon, name, onClick, testId }: { readonly icon: string; readonly name: string; readonly onClick: () => void; readonly testId?: string }) {
    return <button type="button" class="icon" title={name} aria-label={name} onClick={onClick} {...(testId === undefined ? {} : { "data-testid": testId })}><Icon name={icon} /></button>;
}

export function PageHead({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
    const { dispatch } = useEnds();
    return (
        <header class="head">
            <IconButton icon="arrow-left" name={HISTORY.back} onClick={() => dispatch({ type: "goTo", page: "chat" })} testId="back" />
            <h1 class="ellipsis">{title}</h1>
            {children}
        </header>
    );
}
