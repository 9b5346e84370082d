/** Keys among the buttons of a group or a list: arrows, Home and End. */

/** The element that gets the focus; undefined for another key, or from elsewhere. In a grid left and right go on, and up and down go to the row above and below, as they lie on the screen. */
export function nextInGroup(event: KeyboardEvent, items: readonly HTMLElement[], isGrid: boolean): HTMLElement | undefined {
    const at = items.indexOf(event.target as HTMLElement);
    if (at === -1) {
        return undefined;
    }
    switch (event.key) {
        case "ArrowRight":
            return isGrid ? items[at + 1] : undefined;
        case "ArrowLeft":
            return isGrid ? items[at - 1] : undefined;
        case "ArrowDown":
            return isGrid ? nextRow(items, at, 1) : items[at + 1];
        case "ArrowUp":
            return isGrid ? nextRow(items, at, -1) : items[at - 1];
        case "Home":
            return items[0];
        case "End":
            return items.at(-1);
        default:
            return undefined;
    }
}

/** Moves the focus among what `selector` finds below the element that listens. */
export function moveAmong(event: KeyboardEvent, selector: string): void {
    const root = event.currentTarget;
    if (root instanceof HTMLElement) {
        const next = nextInGroup(event, [...root.querySelectorAll<HTMLElement>(selector)], false);
        if (next !== undefined) {
            event.preventDefault();
            next.focus();
        }
    }
}

/** The item of the next row whose middle is nearest. */
function nextRow(items: readonly HTMLElement[], at: number, step: 1 | -1): HTMLElement | undefined {
    const from = items[at]?.getBoundingClientRect();
    if (from === undefined) {
        return undefined;
    }
    const middle = (box: DOMRect) => box.left + box.width / 2;
    let best: HTMLElement | undefined;
    let top: number | undefined;
    for (let i = at + step; i >= 0 && i < items.length; i += step) {
        const item = items[i];
        const box = item?.getBoundingClientRect();
        if (item === undefined || box === undefined || Math.abs(box.top - from.top) < 2) {
            continue;
        }
        if (top !== undefined && Math.abs(box.top - top) > 2) {
            break;
        }
        top = box.top;
        if (best === undefined || Math.abs(middle(box) - middle(from)) < Math.abs(middle(best.getBoundingClientRect()) - middle(from))) {
            best = item;
        }
    }
    return best;
}
