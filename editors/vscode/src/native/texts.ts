/** What a user reads outside the panel: quick picks, notifications, the status bar, and the start of the server. */
import { counted, short } from "../view/figures";

export const SAFE = "Your conversations are safe.";

export const START = {
    starting: "Palimpsest is starting.",
    settingUp: "Setting up, about 20 seconds the first time…",
    stoppedByUser: "The set-up was stopped.",
    tryAgain: "Try again",
    choosePython: "Choose Python…",
    showLog: "Show log",
    restart: "Restart",
    pythonDialog: "A Python 3.11 or newer",
    noPython: `Palimpsest could not start. It needs Python 3.11 or newer; none was found on this computer. ${SAFE}`,
    oldPython: (found: string) => `Palimpsest could not start. It needs Python 3.11 or newer; this computer has ${found}. ${SAFE}`,
    barePython: (found: string) => `Palimpsest could not start. Python ${found} cannot create environments. Install its package python${found}-venv, or choose another Python. ${SAFE}`,
    noProxy: `Palimpsest could not start. The packages it needs could not be downloaded, because the proxy does not answer. Check the proxy (HTTPS_PROXY), then try again. ${SAFE}`,
    noNetwork: `Palimpsest could not start. The packages it needs could not be downloaded. Check the network, then try again. After the first time, no network is needed. ${SAFE}`,
    noRoom: (folder: string) => `Palimpsest could not start. There is not enough room on the disk: it needs about 100 MB in ${folder}. ${SAFE}`,
    notInstalled: `Palimpsest could not start. The packages it needs could not be installed; the log says why. ${SAFE}`,
    failed: (why: string) => `Palimpsest could not start. ${why} ${SAFE}`,
    keepsEnding: `Palimpsest stopped and could not be restarted. ${SAFE}`,
} as const;

export const KEYS = {
    title: "Add a key or choose a model (1/2)",
    which: "Which service?",
    isSet: "key is set",
    isSetElsewhere: "key is set in the environment",
    other: "Another service that speaks OpenAI’s protocol…",
    otherDetail: "Address and key",
    ofEditor: "Models of VS Code",
    ofEditorDetail: "No key needed; uses your Copilot plan",
    local: "Models on this computer",
    localIdle: "Ollama, here or at another address…",
    localReady: (n: number) => `Ollama is running, ${counted(n, "model")}`,
    remove: "Remove a key…",
    keyTitle: (service: string) => `${service} key (2/2)`,
    keyPrompt: (service: string) => `Kept in VS Code’s secret storage and sent to ${service} only. Enter saves, Esc cancels.`,
    otherKeyPrompt: "Kept in VS Code’s secret storage and sent to this service only. Leave it empty if the service wants none.",
    empty: "Paste the key, or press Esc.",
    refused: (service: string) => `${service} did not accept the key. It may be mistyped or revoked.`,
    unchecked: (why: string) => `The key could not be checked. ${why}`,
    keepAnyway: "Keep it anyway",
    tryAgain: "Try again",
    address: "Address of the service (1/2)",
    addressPrompt: "Such as http://localhost:8000/v1. It takes the place of OpenAI.",
    badAddress: "An address begins with http:// or https://.",
    ollamaTitle: "Address of Ollama",
    ollamaPrompt: "Where Ollama listens. Nothing leaves for anywhere else.",
    ollamaAway: (address: string) => `Nothing answers at ${address}. Start Ollama there, or correct the address.`,
    ollamaEmpty: "Ollama answers but has no models yet. Run “ollama pull qwen3” in a terminal, then try again.",
    saved: (service: string, n: number) => `Key for ${service} saved. ${counted(n, "model")} ${n === 1 ? "is" : "are"} ready.`,
    connected: (n: number) => `Ollama is set up. ${counted(n, "model")} ${n === 1 ? "is" : "are"} ready.`,
    noEditorModels: "VS Code offers no models to extensions yet. Sign in to Copilot, or install an extension that brings models.",
    removeTitle: "Remove which key?",
    removed: (service: string) => `Key for ${service} removed.`,
    elsewhere: "Keys in the environment, or stored by another program, stay.",
} as const;

/** What stands beside a service in the list. */
export const SERVICES: Readonly<Record<string, { title: string; models: string; site: string; example: string }>> = {
    anthropic: { title: "Anthropic", models: "Claude models", site: "console.anthropic.com", example: "sk-ant-…" },
    openai: { title: "OpenAI", models: "GPT models", site: "platform.openai.com", example: "sk-…" },
    gemini: { title: "Google", models: "Gemini models", site: "aistudio.google.com", example: "AIza…" },
    ollama: { title: "On this computer (Ollama)", models: "", site: "", example: "" },
};

export const MODELS = {
    title: "Model for this conversation",
    search: "Search models",
    ready: "ready to use",
    fromEditor: "from VS Code",
    needsKey: "needs a key",
    addKeyFirst: "add a key first",
    offline: "Quotes only",
    offlineDetail: "No model: exact quotes from your files",
    services: "Keys and services…",
    inUse: "in use",
    reads: (tokens: number) => `reads ${short(tokens)} tokens`,
    shorter: "shorter: older messages will be summarized",
} as const;

export const STATUS = {
    name: "Palimpsest",
    tooltip: (used: number, budget: number, title: string) => `Palimpsest: ${short(used)} of ${short(budget)} tokens in ${title}`,
    newConversation: "a new conversation",
} as const;

export const TOASTS = {
    asks: (title: string) => `Palimpsest asks: ${title}`,
    show: "Show",
    stale: (n: number, file: string) => `${counted(n, "fact")} about ${file} may be out of date.`,
    review: "Review",
    notNow: "Not now",
    open: "Open",
} as const;
