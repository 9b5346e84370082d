/** A Neovim with the plugin on the machine of a lab, driven by Lua. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { E2E_PYTHON, startChild, until } from "./lab.mjs";

const PLUGIN = path.join(import.meta.dirname, "../../../nvim");

/** The program: the one beside the interpreter, as the development environment installs it. */
const NVIM = process.env.TEST_PALIMPSEST_NVIM ?? path.join(path.dirname(E2E_PYTHON), "nvim");

export class Neovim {
    static async start(lab, name) {
        const place = path.join(lab.root, name);
        rmSync(place, { recursive: true, force: true });
        mkdirSync(place, { recursive: true });
        const init = path.join(place, "init.lua");
        writeFileSync(init, `vim.opt.runtimepath:prepend(${JSON.stringify(PLUGIN)})\nrequire("palimpsest").setup({ cmd = { ${JSON.stringify(E2E_PYTHON)}, "-m", "palimpsest", "serve", "--stdio" } })\n`);
        const neovim = new Neovim(path.join("/tmp", `palimpsest-${process.pid}-${name}`), lab);
        neovim.process = startChild(NVIM, ["--headless", "-u", init, "-i", "NONE", "-n", "--listen", neovim.socket], { cwd: lab.folder, env: { ...lab.environment, NVIM_LOG_FILE: path.join(place, "log") }, stdio: "ignore", detached: true });
        await until("Neovim listens", () => neovim.lua("return true"));
        return neovim;
    }

    constructor(socket, lab) {
        this.socket = socket;
        this.lab = lab;
    }

    /** What a Lua chunk of one line returns, through JSON; undefined while Neovim does not answer. */
    lua(chunk) {
        const code = `vim.json.encode({ (function() ${chunk} end)() })`;
        const words = ["--server", this.socket, "--remote-expr", `luaeval('${code.replaceAll("'", "''")}')`];
        try {
            return JSON.parse(execFileSync(NVIM, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 20_000 }))[0];
        } catch {
            return undefined;
        }
    }

    /** The transcript of the chat. */
    transcript() {
        return this.lua('local chat = require("palimpsest.chat").current() if not chat or not chat.view then return "" end return table.concat(vim.api.nvim_buf_get_lines(chat.view.buf, 0, -1, false), "\\n")') ?? "";
    }

    async shows(text, limitMs = 30_000) {
        await until(`Neovim shows ${text}`, () => this.transcript().includes(text), limitMs);
    }

    stop() {
        try {
            process.kill(-this.process.pid, "SIGTERM");
        } catch {
            // It has ended.
        }
    }
}
