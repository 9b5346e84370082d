/** A Neovim with the plugin on a terminal of the machine of a lab, and what a person types into it. It needs tmux. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { E2E_PYTHON, E2E_SHOTS, startChild, until } from "./lab.mjs";

const PLUGIN = path.join(import.meta.dirname, "../../../nvim");
const COLUMNS = 120;
const ROWS = 36;
const LOOKS = "set background=dark termguicolors laststatus=0 noruler noshowcmd shortmess+=I fillchars=eob:\\ | syntax on";

/** The program: the one beside the interpreter, as the development environment installs it. */
const NVIM = process.env.TEST_PALIMPSEST_NVIM ?? path.join(path.dirname(E2E_PYTHON), "nvim");

export class Neovim {
    /** Why there can be none here, a sentence. */
    static whyNot() {
        for (const [program, flag] of [["tmux", "-V"], [NVIM, "--version"]]) {
            if (spawnSync(program, [flag]).status !== 0) {
                return `There is no ${path.basename(program)} here: install it.`;
            }
        }
        return undefined;
    }

    /** With `file` of the lab's folder open. */
    static async open(lab, file) {
        const neovim = new Neovim(lab);
        const init = path.join(lab.root, "init.lua");
        const command = `{ ${JSON.stringify(E2E_PYTHON)}, "-m", "palimpsest", "serve", "--stdio" }`;
        writeFileSync(init, `vim.opt.runtimepath:prepend(${JSON.stringify(PLUGIN)})\nrequire("palimpsest").setup({ cmd = ${command} })\n`);
        neovim.process = startChild("tmux", ["-S", neovim.socket, "-f", "/dev/null", "-D"], { ...neovim.place, stdio: "ignore" });
        await until("tmux has started", () => {
            try {
                neovim.tmux("new-session", "-d", "-x", `${COLUMNS}`, "-y", `${ROWS}`, NVIM, "-u", init, "-i", "NONE", "-n", "-c", LOOKS, file);
                return true;
            } catch {
                return false;
            }
        });
        neovim.tmux("set-option", "-s", "escape-time", "0");
        return neovim;
    }

    constructor(lab) {
        this.socket = path.join(lab.root, "tmux");
        this.place = { cwd: lab.folder, env: { ...lab.environment, TERM: "xterm-256color", TMUX: "" } };
    }

    tmux(...words) {
        return execFileSync("tmux", ["-S", this.socket, ...words], { ...this.place, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    }

    type(text) {
        this.tmux("send-keys", "-l", text);
        this.tmux("send-keys", "Enter");
    }

    command(text) {
        this.tmux("send-keys", "Escape");
        this.type(`:${text}`);
    }

    screen() {
        return this.tmux("capture-pane", "-p");
    }

    /** The screen shows all of the texts at once. */
    async shows(...texts) {
        const isThere = () => texts.every((each) => this.screen().includes(each));
        await until(`Neovim shows ${texts.join(" and ")}`, isThere, 60_000).catch((error) => {
            throw new Error(`${error.message}\n${this.screen()}`);
        });
    }

    async shot(browser, name) {
        const screen = this.tmux("capture-pane", "-p", "-e");
        const page = await browser.newPage({ viewport: { width: 1080, height: 660 } });
        await page.setContent(execFileSync(E2E_PYTHON, ["-P", path.join(import.meta.dirname, "screen.py"), `${COLUMNS}`], { input: screen, encoding: "utf8" }));
        mkdirSync(E2E_SHOTS, { recursive: true });
        await page.screenshot({ path: path.join(E2E_SHOTS, `${name}.png`) });
        await page.close();
    }

    stop() {
        // The programs on its terminals end with it.
        this.process.kill();
    }
}
