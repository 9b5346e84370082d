// Puts into server/ what the extension installs: the server as a wheel, and the pinned lists of the packages it runs with,
// without its extras and with them.
// PYTHON names an interpreter of the development environment.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const server = fileURLToPath(new URL("../server", import.meta.url));
const python = process.env.PYTHON || `${repository}/.venv/bin/python`;

rmSync(server, { recursive: true, force: true });
mkdirSync(server);
copyFileSync(`${repository}/requirements/run.txt`, `${server}/requirements.txt`);
copyFileSync(`${repository}/requirements/extras.txt`, `${server}/extras.txt`);
execFileSync(python, ["-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", server], { cwd: repository, stdio: ["ignore", "ignore", "inherit"] });
