/** The server is started so that no workspace can shadow it, started again with patience, and refused with a reason. */
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { toFailure } from "../src/port";
import { Backoff } from "../src/server/backoff";
import { chooseLaunch, serverEnvironment } from "../src/server/launch";
import { ensureEnvironment, installExtras, isRecent, NoPython, SetupFailed } from "../src/server/managed";
import { explainMismatch, PROTOCOL_VERSION } from "../src/server/version";

let storage: string;
beforeEach(async () => {
    storage = await mkdtemp(path.join(tmpdir(), "palimpsest-"));
});
afterEach(async () => {
    await rm(storage, { recursive: true, force: true });
});

test("a configured program wins over an interpreter, and an interpreter over the managed environment", () => {
    expect(chooseLaunch({ path: "~/bin/palimpsest", python: "py" }, "/home/u")).toMatchObject({ command: "/home/u/bin/palimpsest" });
    expect(chooseLaunch({ path: " ", python: "/usr/bin/python3" }, "/home/u")).toMatchObject({ kind: "interpreter" });
    expect(chooseLaunch({ path: "", python: "" }, "/home/u")).toEqual({ kind: "managed" });
});

test("an interpreter is kept from importing modules of its working folder", () => {
    const launch = chooseLaunch({ path: "", python: "python3" }, "/home/u");
    expect(launch).toMatchObject({ args: ["-P", "-m", "palimpsest", "serve", "--stdio"] });
});

test("what brings other modules in is not in the server's environment", () => {
    const kept = serverEnvironment({ PYTHONPATH: "/ws", PYTHONHOME: "/ws", PYTHONSTARTUP: "x", PYTHONUTF8: "1", PATH: "/bin" });
    expect(kept).toEqual({ PYTHONUTF8: "1", PATH: "/bin" });
});

test("a server that keeps ending is started ever later, and at last not any more", () => {
    const backoff = new Backoff(() => 0);
    const delays = Array.from({ length: 6 }, () => backoff.ended()).map((next) => (next.kind === "restart" ? next.delayMs : -1));
    expect(delays).toEqual([0, 500, 2000, 8000, 30_000, 30_000]);
    expect(backoff.ended()).toEqual({ kind: "giveUp" });
    backoff.reset();
    expect(backoff.ended()).toEqual({ kind: "restart", delayMs: 0 });
});

test("a server that lived long is started again at once", () => {
    let now = 0;
    const backoff = new Backoff(() => now);
    backoff.ended();
    backoff.ended();
    backoff.started();
    now = 200_000;
    expect(backoff.ended()).toEqual({ kind: "restart", delayMs: 0 });
});

test("a server of another protocol is refused with what to update", () => {
    expect(explainMismatch({ palimpsest: { version: PROTOCOL_VERSION } })).toBeUndefined();
    expect(explainMismatch({ palimpsest: { version: PROTOCOL_VERSION + 1 } })).toMatch(/Update the extension/);
    expect(explainMismatch({ palimpsest: { version: 0 } })).toMatch(/Update the package palimpsest-ls/);
    expect(explainMismatch(undefined)).toMatch(/not Palimpsest/);
});

test("a request that fails for want of an extra is told from others", () => {
    const failed = (data: object) => toFailure({ message: "No.", data: { kind: "invalid_request", retryable: false, ...data } }).lacksExtra;
    expect([failed({ missingExtra: "web" }), failed({}), failed({ missingExtra: null })]).toEqual([true, false, false]);
});

async function options(run: (command: string, args: readonly string[]) => Promise<string>) {
    const steps: string[] = [];
    const carried = path.join(storage, "carried");
    await mkdir(carried, { recursive: true });
    await writeFile(path.join(carried, "palimpsest_ls-9.8.7-py3-none-any.whl"), "a wheel");
    await writeFile(path.join(carried, "requirements.txt"), "attrs==1 --hash=sha256:0");
    await writeFile(path.join(carried, "extras.txt"), "attrs==1 --hash=sha256:0\nmcp==2 --hash=sha256:0");
    const value = {
        storage: path.join(storage, "kept"),
        carried,
        python: "",
        platform: "linux" as const,
        signal: new AbortController().signal,
        begin: () => steps.push("begin"),
        run,
    };
    return { steps, value };
}

const homeOf = (python: string) => path.dirname(path.dirname(python));

/** A machine on which everything works: what was run, and what `pip` did. */
function machine() {
    const calls: string[][] = [];
    const run = async (command: string, args: readonly string[]) => {
        calls.push([path.basename(command), ...args]);
        if (args.includes("venv")) {
            const home = String(args.at(-1));
            await mkdir(path.join(home, "bin"), { recursive: true });
            await writeFile(path.join(home, "bin", "python"), "");
        }
        return "3.12\n";
    };
    return { calls, run, pip: () => calls.filter((each) => each.includes("pip")).map((each) => each.slice(each.indexOf("install"))) };
}

test("the environment is made once, and anew when it was not finished", async () => {
    const { calls, run } = machine();
    let isBroken = true;
    const { value } = await options(async (command, args) => {
        if (args.includes("pip") && isBroken) {
            throw new Error("NewConnectionError: Failed to establish a new connection");
        }
        return run(command, args);
    });
    await expect(ensureEnvironment(value)).rejects.toThrow(/Check the network, then try again/);
    isBroken = false;
    const python = await ensureEnvironment(value);
    expect(path.relative(value.storage, python)).toMatch(/^server-[0-9a-f]{16}.bin.python$/);
    const before = calls.length;
    expect(await ensureEnvironment(value)).toBe(python);
    expect(calls.length).toBe(before);
});

test("the server that came with the extension is installed, with the packages it is pinned to", async () => {
    const { run, pip } = machine();
    const { value } = await options(run);
    await ensureEnvironment(value);
    expect(pip()).toEqual([
        ["install", "--no-deps", "--require-hashes", "-r", path.join(value.carried, "requirements.txt")],
        ["install", "--no-deps", "--no-index", path.join(value.carried, "palimpsest_ls-9.8.7-py3-none-any.whl")],
    ]);
});

test("another server of the same version takes the place of the old one, which stays while a window may run it", async () => {
    const { run } = machine();
    const { value } = await options(run);
    const old = homeOf(await ensureEnvironment(value));
    await writeFile(path.join(value.carried, "palimpsest_ls-9.8.7-py3-none-any.whl"), "another wheel");
    const home = homeOf(await ensureEnvironment(value));
    expect(home).not.toBe(old);
    await ensureEnvironment(value);
    expect((await readdir(value.storage)).length).toBe(2);
    for (const each of [old, home]) {
        await utimes(each, 0, 0);
    }
    await ensureEnvironment(value);
    expect(await readdir(value.storage)).toEqual([path.basename(home)]);
});

test("extras are in an environment of their own, and in that of each later server", async () => {
    const { run, pip } = machine();
    const { value } = await options(run);
    const plain = await ensureEnvironment(value);
    await installExtras(value);
    const list = () => pip().findLast((each) => each.includes("-r"))?.at(-1);
    expect(list()).toBe(path.join(value.carried, "extras.txt"));
    const before = pip().length;
    expect(await ensureEnvironment(value)).not.toBe(plain);
    expect(pip().length).toBe(before);
    await writeFile(path.join(value.carried, "palimpsest_ls-9.8.7-py3-none-any.whl"), "a later wheel");
    await ensureEnvironment(value);
    expect([pip().length, list()]).toEqual([before + 2, path.join(value.carried, "extras.txt")]);
});

test("extras that cannot be installed leave the server as it was", async () => {
    const { run } = machine();
    const { value } = await options((command, args) => (args.some((each) => each.endsWith("extras.txt")) ? Promise.reject(new Error("NewConnectionError")) : run(command, args)));
    const plain = await ensureEnvironment(value);
    await expect(installExtras(value)).rejects.toBeInstanceOf(SetupFailed);
    expect(await ensureEnvironment(value)).toBe(plain);
    expect(await readdir(value.storage)).toEqual([path.basename(homeOf(plain))]);
});

test("a build that carries no server says what to set", async () => {
    const { value } = await options(machine().run);
    await rm(value.carried, { recursive: true });
    await expect(ensureEnvironment(value)).rejects.toThrow(/brings no server/);
});

test("a Python without what environments are made with is passed over, and what to install is said", async () => {
    const bare = await options(() => Promise.resolve("3.11\nbare\n"));
    await expect(ensureEnvironment(bare.value)).rejects.toThrow(/python3.11-venv/);
    await expect(ensureEnvironment(bare.value)).rejects.toBeInstanceOf(NoPython);
    const { calls, run } = machine();
    const { value } = await options(async (command, args) => (command === "python3" && !args.includes("venv") ? "3.11\nbare\n" : run(command, args)));
    await ensureEnvironment(value);
    expect(calls.find((each) => each.includes("venv"))?.[0]).toBe("python3.14");
});

test("the Python that the user has chosen is the only one that is tried", async () => {
    const { calls, run } = machine();
    const { value } = await options(run);
    await ensureEnvironment({ ...value, python: "/opt/python/bin/python3.13" });
    expect(calls.filter((each) => !each.includes("pip")).map(([command]) => command)).toEqual(["python3.13", "python3.13"]);
});

test("a Python that is too old is passed over, and its lack is explained", async () => {
    const { value } = await options(() => Promise.resolve("3.9"));
    await expect(ensureEnvironment(value)).rejects.toThrow(/needs Python 3.11 or newer; this computer has 3.9/);
    expect([isRecent("3.10"), isRecent("3.11"), isRecent("4.0")]).toEqual([false, true, true]);
});

test.each([
    ["OSError: [Errno 28] No space left on device", /not enough room on the disk/],
    ["ProxyError('Cannot connect to proxy.', NewConnectionError(...))", /the proxy does not answer/],
    ["NameResolutionError: Failed to resolve 'pypi.example'", /Check the network/],
    ["ERROR: Could not find a version that satisfies the requirement", /Check the network/],
    ["something nobody expected", /the log says why/],
])("what pip ends with (%s) is said in words with something to do", async (words, sentence) => {
    const { run } = machine();
    const { value, steps } = await options((command, args) => (args.includes("pip") ? Promise.reject(new Error(words)) : run(command, args)));
    await expect(ensureEnvironment(value)).rejects.toThrow(sentence);
    expect(steps).toEqual(["begin"]);
    expect(await readdir(value.storage)).toEqual([]);
});
