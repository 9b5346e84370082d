/** What is being done to the context at the moment. */
import { Icon } from "./page_head";
import { visible } from "./visible";

/** Empty: nothing. */
export function Progress({ text }: { readonly text: string }) {
    return text === "" ? null : <p class="working" role="status" data-testid="progress"><Icon name="loading" spin />{visible(text)}</p>;
}
