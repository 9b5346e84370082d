/** What of the editor's settings goes to the server: exactly the settings of its schema, and only those that are set. */

/** A section as VS Code gives it: nested objects, or keys with dots, by how they were written. */
type Section = Readonly<Record<string, unknown>>;

/**
 * `known`: full names, such as `palimpsest.context.threshold`. The extension's own settings are in no schema of the
 * server, which would refuse them; a null is VS Code's way to say that nothing is set.
 */
export function forServer(section: unknown, known: readonly string[], prefix = "palimpsest"): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    for (const name of known) {
        const keys = name.slice(prefix.length + 1).split(".");
        const value = look(section, keys);
        if (value !== undefined && value !== null) {
            put(found, keys, value);
        }
    }
    return found;
}

function look(section: unknown, keys: readonly string[]): unknown {
    if (keys.length === 0) {
        return section;
    }
    if (!isSection(section)) {
        return undefined;
    }
    const dotted = section[keys.join(".")];
    return dotted === undefined ? look(section[keys[0] ?? ""], keys.slice(1)) : dotted;
}

function put(target: Record<string, unknown>, keys: readonly string[], value: unknown): void {
    const [first = "", ...rest] = keys;
    if (rest.length === 0) {
        target[first] = value;
        return;
    }
    const inner = (target[first] ??= {}) as Record<string, unknown>;
    put(inner, rest, value);
}

function isSection(value: unknown): value is Section {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
