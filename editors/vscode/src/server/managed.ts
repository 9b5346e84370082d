/**
 * An environment of the extension's own for the server, in its global storage. What goes into it comes with the extension:
 * the server as a wheel, and the list of the packages it runs with, pinned by their hashes; pip gets those from where the
 * user has told it to look. An environment is made once for each server and list: its name holds a digest of both, and
 * `ready` is written last, so one that broke off half-way is made anew. There is a list with the server's extras too; once
 * that was installed, later servers come with them as well.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";

import { START } from "../texts";
import { serverEnvironment } from "./launch";

/** Runs a program to its end. Throws with its last words when it fails. */
export type Run = (command: string, args: readonly string[], signal: AbortSignal) => Promise<string>;

export interface ManagedOptions {
    /** The extension's global storage. */
    readonly storage: string;
    /** Where the wheel and both lists lie that came with the extension. */
    readonly carried: string;
    /** The interpreter the user has chosen to make environments with; empty to look for one. */
    readonly python: string;
    readonly platform: NodeJS.Platform;
    readonly signal: AbortSignal;
    /** Called when an environment has to be made. */
    readonly begin: () => void;
    readonly run?: Run;
}

/** The environment cannot be made; the message is the reason, and what to do. */
export class SetupFailed extends Error {}

/** No interpreter was found that an environment can be made with: the user may know of one. */
export class NoPython extends SetupFailed {}

const OLDEST = [3, 11] as const;
// Debian's python3 comes without ensurepip, and an environment made by it would be without pip.
const QUERY = "import sys\nprint('%d.%d' % sys.version_info[:2])\ntry:\n    import ensurepip, venv\nexcept ImportError:\n    print('bare')";

const PLAIN_LIST = "requirements.txt";
const EXTRAS_LIST = "extras.txt";
/** The file in the storage that says that the user has installed the extras. */
const EXTRAS_CHOSEN = "extras-chosen";
/** The file by which the server knows who installs its extras. */
const MADE_BY = "made-by-vscode";
/** An environment that no server was started in for so long is removed. */
const UNUSED_MS = 7 * 24 * 3600 * 1000;

/** The environment's interpreter, after everything that was missing was set up. Throws SetupFailed. */
export function ensureEnvironment(options: ManagedOptions): Promise<string> {
    return ensureList(options, existsSync(path.join(options.storage, EXTRAS_CHOSEN)) ? EXTRAS_LIST : PLAIN_LIST);
}

/** Makes an environment with the extras, which servers are started in from then on. Throws SetupFailed: all is as it was. */
export async function installExtras(options: ManagedOptions): Promise<void> {
    await ensureList(options, EXTRAS_LIST);
    await writeFile(path.join(options.storage, EXTRAS_CHOSEN), "");
}

async function ensureList(options: ManagedOptions, list: string): Promise<string> {
    const { platform, begin, signal, storage } = options;
    const run = options.run ?? runProgram;
    const { wheel, requirements, digest } = await findCarried(options.carried, list);
    const name = `server-${digest}`;
    const home = path.join(storage, name);
    const python = platform === "win32" ? path.join(home, "Scripts", "python.exe") : path.join(home, "bin", "python");
    const ready = path.join(home, "ready");
    if (existsSync(ready) && existsSync(python)) {
        await utimes(home, new Date(), new Date());
        await removeUnused(storage);
        return python;
    }
    begin();
    const base = await findPython(options.python === "" ? namesOf(platform) : [options.python], run, signal);
    // A machine without a network is known as such at the first try.
    const install = (...args: string[]) => run(python, ["-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1", "install", "--no-deps", ...args], signal);
    try {
        await rm(home, { recursive: true, force: true });
        await mkdir(storage, { recursive: true });
        await run(base, ["-I", "-m", "venv", home], signal);
        await writeFile(path.join(home, MADE_BY), "");
        await install("--require-hashes", "-r", requirements);
        await install("--no-index", wheel);
        await writeFile(ready, digest);
    } catch (error) {
        signal.throwIfAborted();
        await rm(home, { recursive: true, force: true }).catch(() => undefined);
        throw explain(error, storage);
    }
    return python;
}

/** What pip and the system say, as a sentence with something to do; the log has their words. */
function explain(error: unknown, storage: string): Error {
    const words = error instanceof Error ? error.message : String(error);
    const is = (pattern: RegExp) => pattern.test(words);
    const sentence = is(/No space left|ENOSPC|Errno 28|Disk quota|EDQUOT/i)
        ? START.noRoom(storage)
        : is(/ProxyError|[Cc]annot connect to proxy|Tunnel connection failed|SOCKSHTTPS?Connection/)
          ? START.noProxy
          : is(/NewConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|name resolution|Failed to establish|Max retries|SSLError|Could not find a version/i)
            ? START.noNetwork
            : START.notInstalled;
    return new SetupFailed(sentence, { cause: error });
}

/** Environments that another window may run, or is making, stay. */
async function removeUnused(storage: string): Promise<void> {
    for (const name of await readdir(storage)) {
        const home = path.join(storage, name);
        if (name.startsWith("server-") && Date.now() - (await stat(home)).mtimeMs > UNUSED_MS) {
            await rm(home, { recursive: true, force: true }).catch(() => undefined);
        }
    }
}

function namesOf(platform: NodeJS.Platform): readonly string[] {
    return platform === "win32" ? ["py", "python"] : ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
}

async function findPython(names: readonly string[], run: Run, signal: AbortSignal): Promise<string> {
    let bare: string | undefined;
    let old: string | undefined;
    for (const name of names) {
        try {
            const [version = "", lack = ""] = (await run(name, ["-I", "-c", QUERY], signal)).split(/\r?\n/);
            if (!isRecent(version)) {
                old ??= version.trim();
            } else if (lack === "") {
                return name;
            } else {
                bare ??= version;
            }
        } catch {
            signal.throwIfAborted();
        }
    }
    throw new NoPython(bare !== undefined ? START.barePython(bare) : old !== undefined && old !== "" ? START.oldPython(old) : START.noPython);
}

export function isRecent(version: string): boolean {
    const [major = 0, minor = 0] = version.trim().split(".").map(Number);
    return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

async function findCarried(folder: string, list: string): Promise<{ wheel: string; requirements: string; digest: string }> {
    const names = existsSync(folder) ? await readdir(folder) : [];
    const name = names.find((each) => each.startsWith("palimpsest_ls-") && each.endsWith(".whl"));
    const requirements = path.join(folder, list);
    if (name === undefined || !existsSync(requirements)) {
        throw new Error(START.noServer);
    }
    const wheel = path.join(folder, name);
    const hash = createHash("sha256");
    for (const file of [wheel, requirements]) {
        hash.update(await readFile(file));
    }
    return { wheel, requirements, digest: hash.digest("hex").slice(0, 16) };
}

const LAST_WORDS = 2000;

function runProgram(command: string, args: readonly string[], signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
        const child = spawn(command, args, { env: serverEnvironment(process.env), signal, stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        let errors = "";
        child.stdout.on("data", (data: Buffer) => (output += data.toString()));
        child.stderr.on("data", (data: Buffer) => (errors = (errors + data.toString()).slice(-LAST_WORDS)));
        child.on("error", reject);
        child.on("close", (code) => {
            if (code === 0) {
                resolve(output);
            } else {
                reject(new Error(`${path.basename(command)} ended with status ${String(code)}. ${errors.trim()}`));
            }
        });
    });
}
