/** What goes with the message, and the open file, which is offered. */
import type { Chip } from "../messages";
import { COMPOSER, SAID } from "../texts";
import { short } from "./figures";
import { Icon } from "./page_head";
import { useEnds } from "./post";
import { visible } from "./visible";

const PICTURE = /\.(png|jpe?g|webp|gif)$/i;

interface Props {
    readonly chips: readonly Chip[];
    readonly tokens: number;
    /** The path of a file that one click attaches. */
    readonly offered: string | undefined;
}

export function Chips({ chips, tokens, offered }: Props) {
    const { post } = useEnds();
    if (chips.length === 0 && offered === undefined) {
        return null;
    }
    return (
        <ul class="chips" aria-label={SAID.attachments(tokens)} data-testid="chips">
            {chips.map((chip) => (
                <li key={chip.id} class={chip.problem === undefined ? "chip" : "chip is-bad"} title={chip.problem === undefined ? `${chip.tokens.toLocaleString("en")} ${SAID.tokens}` : visible(chip.label)}>
                    {chip.problem === undefined ? <Good chip={chip} /> : <><Icon name="error" /><span>{visible(chip.problem)}</span></>}
                    <button type="button" class="x" aria-label={SAID.remove(visible(chip.label))} onClick={() => post({ type: "detach", id: chip.id })}><Icon name="close" /></button>
                </li>
            ))}
            {offered !== undefined && (
                <li>
                    <button type="button" class="chip suggest" title={COMPOSER.attach(visible(offered))} aria-label={COMPOSER.attach(visible(offered))} onClick={() => post({ type: "attachPath", path: offered })} data-testid="offered-file"><Icon name="file-code" /><span class="ellipsis">{visible(offered.split("/").at(-1) ?? offered)}</span></button>
                </li>
            )}
        </ul>
    );
}

function Good({ chip }: { readonly chip: Chip }) {
    return (
        <>
            {chip.thumbnail === undefined ? <Icon name={PICTURE.test(chip.label) ? "file-media" : "file-code"} /> : <img class="thumb" src={chip.thumbnail} alt="" />}
            <span class="ellipsis">{visible(chip.label)}</span>
            <span class="size">{short(chip.tokens)}</span>
        </>
    );
}
