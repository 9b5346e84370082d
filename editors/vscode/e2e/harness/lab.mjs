/**
 * A real VS Code for one file of tests: code-server with a home, settings, extensions and a workspace of its own, on
 * loopback. Where the programs lie comes from `scripts/e2e.sh` by the environment.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";

/** What this process started and has to end, whatever ends it: ids of processes, negative ones of whole groups. */
const started = new Set();

function endAll() {
    for (const pid of started) {
        try {
            process.kill(pid, "SIGTERM");
        } catch {
            // It has ended.
        }
    }
    started.clear();
}

process.once("exit", endAll);
for (const [signal, number] of [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]]) {
    process.once(signal, () => {
        endAll();
        process.exit(128 + number);
    });
}

/** A child that does not outlive this process. `detached`: with all that it starts. */
export function startChild(command, args, options) {
    const child = spawn(command, args, options);
    const id = options.detached === true ? -child.pid : child.pid;
    started.add(id);
    child.once("exit", () => started.delete(id));
    return child;
}

export const { E2E_NODE, E2E_CODE_SERVER, E2E_VSIX, E2E_PYTHON, E2E_WHEELS, E2E_RUNS, E2E_SHOTS, E2E_CHROMIUM } = process.env;

const USER_SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.welcomePage.walkthroughs.openOnInstall": false,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": false,
    "extensions.autoCheckUpdates": false,
    "extensions.ignoreRecommendations": true,
    "update.mode": "none",
    "editor.minimap.enabled": false,
    "window.commandCenter": false,
    "chat.commandCenter.enabled": false,
};

/**
 * @param {string} name of the folder that everything lies in; `managed`: the extension sets up the server by itself
 * @param {{files?: Record<string, string>, settings?: object, env?: Record<string, string>, trusted?: boolean, managed?: boolean, smoke?: boolean, extensions?: string[], before?: (lab: Lab) => void}} options
 */
export async function startLab(name, options = {}) {
    const lab = new Lab(name, options);
    await lab.start();
    return lab;
}

export class Lab {
    constructor(name, options) {
        this.options = options;
        this.root = path.join(E2E_RUNS, name);
        this.folder = path.join(this.root, "shop");
        this.home = path.join(this.root, "home");
        this.helpers = [];
    }

    get environment() {
        const hidden = Object.fromEntries(Object.keys(process.env).filter((each) => /_(API_KEY|BASE_URL|HOST|MODEL)$/.test(each)).map((each) => [each, ""]));
        const places = Object.fromEntries(["DATA", "CACHE", "STATE", "CONFIG"].map((each) => [`XDG_${each}_HOME`, path.join(this.home, each.toLowerCase())]));
        return { ...process.env, ...hidden, ...places, HOME: this.home, PALIMPSEST_LIBRARIAN_DAILY_TOKENS: "0", ...this.options.env };
    }

    async start() {
        rmSync(this.root, { recursive: true, force: true });
        for (const each of ["user/User", "user/Machine", "extensions", "shop", "home"]) {
            mkdirSync(path.join(this.root, each), { recursive: true });
        }
        for (const [file, text] of Object.entries(this.options.files ?? {})) {
            mkdirSync(path.dirname(path.join(this.folder, file)), { recursive: true });
            writeFileSync(path.join(this.folder, file), text);
        }
        // Settings of scope "machine" are read from this file alone.
        writeFileSync(path.join(this.root, "user/Machine/settings.json"), JSON.stringify(this.options.managed === true ? {} : { "palimpsest.server.python": E2E_PYTHON }));
        this.set({});
        this.options.before?.(this);
        const places = ["--user-data-dir", path.join(this.root, "user"), "--extensions-dir", path.join(this.root, "extensions")];
        const entry = path.join(E2E_CODE_SERVER, "out/node/entry.js");
        if (this.options.smoke !== true) {
            for (const vsix of [E2E_VSIX, ...(this.options.extensions ?? [])]) {
                execFileSync(E2E_NODE, [entry, ...places, "--install-extension", vsix], { env: this.environment, stdio: "pipe" });
            }
        }
        this.port = await freePort();
        const log = openSync(path.join(this.root, "code-server.log"), "w");
        const quiet = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
        const trust = this.options.trusted === false ? [] : ["--disable-workspace-trust"];
        const smoke = this.options.smoke === true ? ["--vscode-option", "enable-smoke-test-driver"] : [];
        this.process = startChild(E2E_NODE, [entry, ...places, "--auth", "none", "--bind-addr", `127.0.0.1:${this.port}`, ...quiet, ...trust, ...smoke], {
            env: this.environment,
            stdio: ["ignore", log, log],
            detached: true,
        });
        closeSync(log);
        await until("VS Code has started", async () => (await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => undefined))?.ok, 60_000);
    }

    get url() {
        return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.folder)}`;
    }

    /** The window with a file open in it: to find one by its name an older VS Code wants a program that does not come along. */
    urlOf(file) {
        const payload = [["openFile", `vscode-remote://127.0.0.1:${this.port}${path.join(this.folder, file)}`]];
        return `${this.url}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
    }

    /** User settings, on top of the quiet ones. */
    set(settings) {
        this.settings = { ...this.settings, ...settings };
        writeFileSync(path.join(this.root, "user/User/settings.json"), JSON.stringify({ ...USER_SETTINGS, ...this.options.settings, ...this.settings }));
    }

    write(file, text) {
        writeFileSync(path.join(this.folder, file), text);
    }

    read(file) {
        return readFileSync(path.join(this.folder, file), "utf8");
    }

    /** The processes of Palimpsest's servers that this VS Code started: its own descendants alone. */
    servers() {
        const parents = new Map();
        for (const pid of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
            try {
                const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
                parents.set(Number(pid), { parent: Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]), command: readFileSync(`/proc/${pid}/cmdline`, "utf8") });
            } catch {
                // It has ended meanwhile.
            }
        }
        const isOurs = (pid) => pid === this.process.pid || (parents.has(pid) && isOurs(parents.get(pid).parent));
        return [...parents].filter(([pid, { command }]) => /palimpsest\0serve/.test(command) && isOurs(pid)).map(([pid]) => pid);
    }

    /** A program that lives as long as the lab. `ready`: resolves with the first line it prints. */
    async run(command, args) {
        const child = startChild(command, args, { env: this.environment, stdio: ["ignore", "pipe", "inherit"] });
        this.helpers.push(child);
        const [line] = await once(createInterface({ input: child.stdout }), "line");
        return line;
    }

    async stop() {
        this.helpers.forEach((each) => each.kill());
        if (this.process?.exitCode === null) {
            const ended = once(this.process, "exit");
            process.kill(-this.process.pid, "SIGTERM");
            await ended;
        }
    }
}

/** A model service that answers on loopback, and what makes the server use it. `perSecond`: deltas; `characters`: of each delta of the script. */
export async function startModel(script, perSecond = 50, characters = 4_000) {
    const helper = path.join(import.meta.dirname, "model.py");
    const file = path.join(E2E_RUNS, `script-${process.pid}.jsonl`);
    mkdirSync(E2E_RUNS, { recursive: true });
    writeFileSync(file, script.map((each) => JSON.stringify(each)).join("\n"));
    const { said: url, ask, child } = await startHelper(E2E_PYTHON, ["-P", helper, file, String(perSecond), String(characters)]);
    return {
        url,
        /** What it charged for each whole answer, in tokens. */
        charged: async () => JSON.parse(await ask("charged")),
        /** How often it was asked. */
        asked: async () => JSON.parse(await ask("asked")),
        /** The pictures of the newest request, decoded. */
        pictures: async () => JSON.parse(await ask("pictures")),
        env: { OPENAI_API_KEY: "fake", OPENAI_BASE_URL: `${url}/v1`, PALIMPSEST_MODEL: "gpt-4o" },
        stop: () => child.kill(),
    };
}

/** The .vsix of an extension of this folder that a test installs beside ours. */
export function packExtension(name) {
    const vsix = path.join(E2E_RUNS, `${name}.vsix`);
    mkdirSync(E2E_RUNS, { recursive: true });
    const here = import.meta.dirname;
    const vsce = path.join(here, "../../node_modules/@vscode/vsce/vsce");
    execFileSync(E2E_NODE, [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", vsix], { cwd: path.join(here, name), stdio: "pipe" });
    return vsix;
}

/** A program that answers orders, a line for a line. `said`: its first line. */
export async function startHelper(command, args, options) {
    const child = startChild(command, args, { ...options, stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const said = (await lines.next()).value;
    return {
        said,
        ask: async (order) => {
            child.stdin.write(`${order}\n`);
            return (await lines.next()).value;
        },
        stop: () => child.stdin.end(),
        child,
    };
}

export async function freePort() {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address();
    server.close();
    return port;
}

/** The first true value of `look`; fails with `what` when none comes. */
export async function until(what, look, limitMs = 30_000) {
    const end = Date.now() + limitMs;
    for (;;) {
        const value = await look();
        if (value) {
            return value;
        }
        if (Date.now() > end) {
            throw new Error(`It did not come about that ${what}.`);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}
