/** A hub with a team on loopback, for machines of its members: `hub.py` beside this file. */
import path from "node:path";

import { E2E_PYTHON, startHelper } from "./lab.mjs";

const ROOT = path.join(import.meta.dirname, "../../../..");

/** The hub; undefined where there is no PostgreSQL. `env`: by member, what the machine's environment is to hold. */
export async function startHub(team, ...members) {
    const helper = await startHelper(E2E_PYTHON, ["-P", path.join(import.meta.dirname, "hub.py"), team, ...members], { env: { ...process.env, PYTHONPATH: ROOT } });
    const env = JSON.parse(helper.said);
    return env[members[0]] === undefined ? undefined : {
        env,
        cut: (member) => helper.ask(`cut ${member}`),
        mend: (member) => helper.ask(`mend ${member}`),
        stop: helper.stop,
    };
}
