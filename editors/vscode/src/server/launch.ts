/**
 * How the server is started. Whatever the way, files of a workspace cannot stand in for its modules: the interpreter is
 * run with `-P`, what `PYTHON*` says is left out, and its working folder is not the workspace.
 */

/** What the user configured; an empty text counts as unset. */
export interface LaunchSettings {
    /** The program `palimpsest`. */
    readonly path: string;
    /** A Python interpreter that has `palimpsest-ls`. */
    readonly python: string;
}

export type Launch =
    | { readonly kind: "program"; readonly command: string; readonly args: readonly string[] }
    | { readonly kind: "interpreter"; readonly command: string; readonly args: readonly string[] }
    /** An environment of the extension's own, which has to be set up first. */
    | { readonly kind: "managed" };

const SERVE = ["serve", "--stdio"] as const;

/** A configured program wins over a configured interpreter; without either the extension keeps its own environment. */
export function chooseLaunch(settings: LaunchSettings, home: string): Launch {
    const path = settings.path.trim();
    if (path !== "") {
        return { kind: "program", command: expandHome(path, home), args: SERVE };
    }
    const python = settings.python.trim();
    return python === "" ? { kind: "managed" } : { kind: "interpreter", ...launchInterpreter(expandHome(python, home)) };
}

export function launchInterpreter(python: string): { command: string; args: readonly string[] } {
    return { command: python, args: ["-P", "-m", "palimpsest", ...SERVE] };
}

/** The environment of the server: the editor's own, less what could bring other modules in. */
export function serverEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    const kept: NodeJS.ProcessEnv = {};
    for (const [name, value] of Object.entries(environment)) {
        if (!/^PYTHON(?!UTF8$|IOENCODING$)/i.test(name) && name !== "VIRTUAL_ENV") {
            kept[name] = value;
        }
    }
    return kept;
}

function expandHome(path: string, home: string): string {
    return path === "~" || path.startsWith("~/") || path.startsWith("~\\") ? home + path.slice(1) : path;
}
