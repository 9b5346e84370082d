/** The server is started so that no workspace can shadow it, started again with patience, and refused with a reason. */
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Backoff } from "../src/server/backoff";
import { chooseLaunch, serverEnvironment } from "../src/server/launch";
import { ensureEnvironment, isRecent } from "../src/server/managed";
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
    expect(explainMismatch(undefined)).toMatch(/not a Palimpsest server/);
});

function options(run: (command: string, args: readonly string[]) => Promise<string>) {
    const steps: string[] = [];
    const value = {
        storage,
        wheels: path.join(storage, "wheels"),
        version: "9.8.7",
        platform: "linux" as const,
        signal: new AbortController().signal,
        report: (step: string) => steps.push(step),
        run,
    };
    return { steps, value };
}

test("the environment is made once, and anew when it was not finished", async () => {
    const calls: string[] = [];
    let isBroken = true;
    const { value } = options(async (command, args) => {
        calls.push([path.basename(command), ...args.slice(0, 3)].join(" "));
        if (args.includes("venv")) {
            await mkdir(path.join(storage, "server-9.8.7", "bin"), { recursive: true });
            await writeFile(path.join(storage, "server-9.8.7", "bin", "python"), "");
        }
        if (args.includes("pip") && isBroken) {
            throw new Error("no network");
        }
        return "3.12\n";
    });
    await expect(ensureEnvironment(value)).rejects.toThrow("no network");
    isBroken = false;
    const python = await ensureEnvironment(value);
    expect(python).toBe(path.join(storage, "server-9.8.7", "bin", "python"));
    expect(await readFile(path.join(storage, "server-9.8.7", "ready"), "utf8")).toBe("9.8.7");
    const before = calls.length;
    await ensureEnvironment(value);
    expect(calls.length).toBe(before);
});

test("a wheel that came with the extension is installed instead of a download", async () => {
    await mkdir(path.join(storage, "wheels"));
    const wheel = path.join(storage, "wheels", "palimpsest_ls-9.8.7-py3-none-any.whl");
    await writeFile(wheel, "");
    let installed: string | undefined;
    const { value } = options(async (_, args) => {
        installed = args.includes("pip") ? args.at(-1) : installed;
        if (args.includes("venv")) {
            await mkdir(path.join(storage, "server-9.8.7"));
        }
        return "3.11";
    });
    await ensureEnvironment(value);
    expect(installed).toBe(wheel);
});

test("a Python that is too old is passed over, and its lack is explained", async () => {
    const { value } = options(() => Promise.resolve("3.9"));
    await expect(ensureEnvironment(value)).rejects.toThrow(/No Python 3.11 or newer/);
    expect([isRecent("3.10"), isRecent("3.11"), isRecent("4.0")]).toEqual([false, true, true]);
});
