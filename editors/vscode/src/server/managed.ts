/**
 * An environment of the extension's own for the server, in its global storage. It is made once for each version of the
 * server: `ready` is written last, so one that broke off half-way is made anew.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { serverEnvironment } from "./launch";

/** Runs a program to its end. Throws with its last words when it fails. */
export type Run = (command: string, args: readonly string[], signal: AbortSignal) => Promise<string>;

export interface ManagedOptions {
    /** The extension's global storage. */
    readonly storage: string;
    /** Where a wheel may lie that came with the extension. */
    readonly wheels: string;
    /** The version of the server to install. */
    readonly version: string;
    readonly platform: NodeJS.Platform;
    readonly signal: AbortSignal;
    /** Told what is being done, a few words each. */
    readonly report: (step: string) => void;
    readonly run?: Run;
}

const OLDEST = [3, 11] as const;
const VERSION_QUERY = "import sys; print('%d.%d' % sys.version_info[:2])";

/** The environment's interpreter, after everything that was missing was set up. Throws with a sentence for the user. */
export async function ensureEnvironment(options: ManagedOptions): Promise<string> {
    const { platform, report, signal } = options;
    const run = options.run ?? runProgram;
    const home = path.join(options.storage, `server-${options.version}`);
    const python = platform === "win32" ? path.join(home, "Scripts", "python.exe") : path.join(home, "bin", "python");
    const ready = path.join(home, "ready");
    if (existsSync(ready) && existsSync(python)) {
        return python;
    }
    report("looking for Python");
    const base = await findPython(platform, run, signal);
    await rm(home, { recursive: true, force: true });
    await mkdir(options.storage, { recursive: true });
    report("making an environment");
    await run(base, ["-I", "-m", "venv", home], signal);
    report("installing the server");
    const wheel = await findWheel(options.wheels);
    await run(
        python,
        ["-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "install", wheel ?? `palimpsest-ls==${options.version}`],
        signal,
    );
    await writeFile(ready, options.version);
    return python;
}

async function findPython(platform: NodeJS.Platform, run: Run, signal: AbortSignal): Promise<string> {
    const names = platform === "win32" ? ["py", "python"] : ["python3", "python3.13", "python3.12", "python3.11", "python"];
    for (const name of names) {
        try {
            if (isRecent(await run(name, ["-I", "-c", VERSION_QUERY], signal))) {
                return name;
            }
        } catch {
            signal.throwIfAborted();
        }
    }
    throw new Error(
        `No Python ${OLDEST.join(".")} or newer was found. Install one, or set palimpsest.server.python or palimpsest.server.path.`,
    );
}

export function isRecent(version: string): boolean {
    const [major = 0, minor = 0] = version.trim().split(".").map(Number);
    return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

async function findWheel(folder: string): Promise<string | undefined> {
    const names = existsSync(folder) ? await readdir(folder) : [];
    const name = names.find((each) => each.startsWith("palimpsest_ls-") && each.endsWith(".whl"));
    return name === undefined ? undefined : path.join(folder, name);
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
