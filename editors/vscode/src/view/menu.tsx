/** Menus of the panel: behind a button, and of what is pointed at or focused (right click, Shift+F10, the Menu key). */
import { createContext, type ComponentChildren } from "preact";
import { useCallback, useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "./page_head";

export interface Choice {
    readonly label: string;
    readonly icon?: string;
    readonly onPick: () => void;
    /** Whether a line stands above it. */
    readonly beginsGroup?: boolean;
}

/** What is offered; false stands for what is not offered now. */
export type Choices = ReadonlyArray<Choice | false>;

/** Where a menu opens: below its button, at a point, or beside what is focused. */
interface Place {
    readonly left: number;
    readonly top: number;
    readonly bottom: number;
}

interface Opened {
    readonly name: string;
    readonly choices: readonly Choice[];
    readonly place: Place;
    readonly opener: HTMLElement | null;
}

type Open = (name: string, choices: Choices, place: Place) => void;

const MenuContext = createContext<{ readonly open: Open; readonly opener: HTMLElement | null }>({ open: () => undefined, opener: null });

/** Menus are drawn here, at the panel's root: messages are contained and would clip them. */
export function Menus({ children }: { readonly children: ComponentChildren }) {
    const [opened, setOpened] = useState<Opened | undefined>(undefined);
    const open = useCallback<Open>((name, choices, place) => {
        const offered = choices.filter((each) => each !== false);
        const opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
        setOpened(offered.length === 0 ? undefined : { name, choices: offered, place, opener });
    }, []);
    return (
        <MenuContext.Provider value={{ open, opener: opened?.opener ?? null }}>
            {children}
            {opened !== undefined && <Menu opened={opened} onClose={() => setOpened(undefined)} />}
        </MenuContext.Provider>
    );
}

function Menu({ opened, onClose }: { readonly opened: Opened; readonly onClose: () => void }) {
    const list = useRef<HTMLDivElement>(null);
    const { place, choices, opener } = opened;
    useLayoutEffect(() => {
        const menu = list.current;
        const panel = menu?.parentElement?.getBoundingClientRect();
        if (menu === null || panel === undefined) {
            return;
        }
        const { width, height } = menu.getBoundingClientRect();
        const isBelow = place.bottom + height <= panel.bottom || place.top - height < panel.top;
        menu.style.left = `${Math.max(4, Math.min(place.left - panel.left, panel.width - width - 4))}px`;
        menu.style.top = `${Math.max(4, Math.min(isBelow ? place.bottom - panel.top + 2 : place.top - panel.top - height - 2, panel.height - height - 4))}px`;
        menu.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    }, [opened]);
    useEffect(() => {
        const leave = (event: Event) => {
            if (!(event.target instanceof Node && list.current?.contains(event.target) === true)) {
                onClose();
            }
        };
        document.addEventListener("pointerdown", leave, true);
        window.addEventListener("blur", onClose);
        window.addEventListener("resize", onClose);
        return () => {
            document.removeEventListener("pointerdown", leave, true);
            window.removeEventListener("blur", onClose);
            window.removeEventListener("resize", onClose);
        };
    }, []);
    const close = () => {
        onClose();
        opener?.focus();
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const items = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
        const at = items.indexOf(event.target as HTMLElement);
        const next = { ArrowDown: (at + 1) % items.length, ArrowUp: (at + items.length - 1) % items.length, Home: 0, End: items.length - 1 }[event.key];
        if (next !== undefined) {
            items[next]?.focus();
        } else if (event.key === "Escape" || event.key === "Tab") {
            close();
        } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey) {
            [...items.slice(at + 1), ...items.slice(0, at + 1)].find((each) => each.textContent.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="menu ctx" role="menu" aria-label={opened.name} ref={list} onKeyDown={onKeyDown} onContextMenu={(event) => event.preventDefault()} data-testid="menu">
            {choices.map((each) => (
                <button key={each.label} type="button" role="menuitem" tabIndex={-1} class={`item${each.beginsGroup === true ? " begins" : ""}`} onMouseMove={(event) => event.currentTarget.focus()} onClick={() => { close(); each.onPick(); }}>
                    {each.icon !== undefined && <Icon name={each.icon} />}<span>{each.label}</span>
                </button>
            ))}
        </div>
    );
}

interface ButtonProps {
    readonly name: string;
    readonly icon: string;
    readonly choices: Choices;
    readonly class?: string;
    readonly testId?: string;
}

export function MenuButton({ name, icon, choices, class: kind = "icon", testId }: ButtonProps) {
    const { open, opener } = useContext(MenuContext);
    const button = useRef<HTMLButtonElement>(null);
    const onClick = () => {
        const box = button.current?.getBoundingClientRect();
        button.current?.focus();
        open(name, choices, box === undefined ? { left: 0, top: 0, bottom: 0 } : { left: box.left, top: box.top, bottom: box.bottom });
    };
    return (
        <button type="button" class={kind} ref={button} title={name} aria-label={name} aria-haspopup="menu" aria-expanded={opener !== null && opener === button.current} onClick={onClick} {...(testId === undefined ? {} : { "data-testid": testId })}>
            <Icon name={icon} />
        </button>
    );
}

/** For `onContextMenu`: a browser raises that by pointer and by keys. What is selected or typed in keeps the editor's own menu. */
export function useContextMenu(name: string, choices: () => Choices): (event: MouseEvent) => void {
    const { open } = useContext(MenuContext);
    return (event) => {
        const target = event.target;
        if (!(target instanceof Element) || target.closest("textarea, input, a") !== null || (getSelection()?.toString() ?? "") !== "") {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
        const isByKey = event.button !== 2;
        const box = (document.activeElement ?? target).getBoundingClientRect();
        open(name, choices(), isByKey ? { left: box.left + 8, top: box.top, bottom: Math.min(box.bottom, box.top + 24) } : { left: event.clientX, top: event.clientY, bottom: event.clientY });
    };
}
