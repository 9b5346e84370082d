/** A sentence, with what stands in backticks as code. */
import { Fragment } from "preact";

import { visible } from "./visible";

export function WithCode({ text }: { readonly text: string }) {
    return <>{visible(text).split("`").map((piece, index, all) => (index % 2 === 1 && index < all.length - 1 ? <code key={index}>{piece}</code> : <Fragment key={index}>{piece}</Fragment>))}</>;
}
