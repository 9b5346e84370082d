/** The list of models as a person chooses from it: usable ones first, one group of those that need a key. */
import type { ModelInfo } from "../protocol.gen";
import { MODELS, SERVICES } from "../texts";

export type Choice = { readonly model: string } | { readonly needsKey: string; readonly model: string } | "services";

export interface Row {
    readonly label: string;
    readonly description?: string;
    readonly icon?: string;
    /** The name of the group that begins with this row; empty for a line alone. */
    readonly group?: string;
    readonly choice: Choice;
}

const OFFLINE = "offline";
const EDITOR = "editor";

/** Whether a model is set up that answers in words. */
export function isSetUp(models: readonly ModelInfo[]): boolean {
    return models.some((each) => each.isAvailable && each.provider !== OFFLINE);
}

/** The model of new conversations, where it answers in words. */
export function defaultOf(models: readonly ModelInfo[]): string | undefined {
    return models.find((each) => each.isDefault && each.isAvailable && each.provider !== OFFLINE)?.name;
}

/** `used`: the tokens of the conversation so far. */
export function rows(models: readonly ModelInfo[], current: string | undefined, used: number): Row[] {
    const of = (wanted: (model: ModelInfo) => boolean) => models.filter((each) => each.provider !== OFFLINE && wanted(each)).sort((a, b) => Number(b.name === current) - Number(a.name === current) || Number(b.isDefault) - Number(a.isDefault) || b.budgetTokens - a.budgetTokens);
    const usable = of((each) => each.isAvailable && each.provider !== EDITOR).map((each): Row => ({ label: each.name, description: describe(each, used), icon: each.name === current ? "check" : "blank", choice: { model: each.name } }));
    const ofEditor = of((each) => each.isAvailable && each.provider === EDITOR).map((each): Row => ({ label: each.name, description: describe(each, used), icon: each.name === current ? "check" : "vm", choice: { model: each.name } }));
    const others = of((each) => !each.isAvailable && each.provider in SERVICES && each.provider !== "ollama").map((each): Row => ({ label: each.name, description: `${serviceOf(each.provider)} · ${MODELS.addKeyFirst}`, icon: "key", choice: { needsKey: each.provider, model: each.name } }));
    const offline = models.find((each) => each.provider === OFFLINE);
    const rest: Row[] = offline === undefined ? [] : [{ label: MODELS.offline, description: MODELS.offlineDetail, icon: offline.name === current ? "check" : "debug-disconnect", choice: { model: offline.name } }];
    return [...grouped(MODELS.ready, usable), ...grouped(MODELS.fromEditor, ofEditor), ...grouped(MODELS.needsKey, others), ...grouped("", rest), ...grouped("", [{ label: MODELS.services, icon: "gear", choice: "services" }])];
}

export function serviceOf(provider: string): string {
    return SERVICES[provider]?.title ?? provider;
}

function describe(model: ModelInfo, used: number): string {
    const service = model.provider === EDITOR ? "" : `${serviceOf(model.provider)} · `;
    return `${service}${MODELS.reads(model.budgetTokens)}${model.budgetTokens < used ? ` · ${MODELS.shorter}` : ""}`;
}

function grouped(group: string, found: readonly Row[]): Row[] {
    return found.map((row, index) => (index === 0 ? { ...row, group } : row));
}
