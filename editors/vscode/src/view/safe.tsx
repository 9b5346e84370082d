/** A message that cannot be drawn takes nothing else with it. */
import { Component, type ComponentChildren } from "preact";

import { CHAT } from "../texts";

interface Props {
    readonly id: number;
    readonly children: ComponentChildren;
}

export class Safe extends Component<Props, { readonly hasFailed: boolean }> {
    override state = { hasFailed: false };

    static override getDerivedStateFromError(): { readonly hasFailed: boolean } {
        return { hasFailed: true };
    }

    override render() {
        return this.state.hasFailed ? <p class="gone">{CHAT.notShown(this.props.id)}</p> : this.props.children;
    }
}
