/**
 * Setting up a model without a terminal: which service, then its key, which is tried before it is kept; or an address; or
 * the models of VS Code. Whatever way it ends, the list of models comes next, and the composer has the focus again.
 */
import * as vscode from "vscode";

import { toFailure, type ServerPort } from "../port";
import { CredentialsCheckRequest, CredentialsListRequest, ModelListRequest, type CheckCredentialsResult, type ModelInfo, type ServiceInfo } from "../protocol.gen";
import { ask, pick, type Item } from "./dialogs";
import type { Keys } from "./keys";
import { rows, serviceOf } from "./model_list";
import { asWords } from "./words";
import { KEYS, MODELS, SERVICES } from "../texts";

const LOCAL = "ollama";
/** The service that others imitate; at another address it is one of those. */
const IMITATED = "openai";
/** What a service without keys is sent in the place of one. */
const NO_KEY = "none";
/** Until the models of a service that was just set up are listed. */
const LISTED_MS = 10_000;
const LOOK_MS = 200;

type Step = "other" | "editor" | "local" | "remove" | { readonly service: string };

export class Setup {
    /** `offerEditorModels`: makes VS Code's models known to the server. */
    constructor(
        private readonly server: ServerPort & { whenReady(): Promise<void> },
        private readonly keys: Keys,
        private readonly offerEditorModels: () => Promise<void>,
    ) {}

    /** Both steps, or the second alone where the service is known. Whether something was set up. */
    async begin(service?: string): Promise<boolean> {
        await this.server.whenReady();
        const step = service === undefined ? await this.chooseService() : { service };
        switch (step) {
            case undefined:
                return false;
            case "other":
                return this.other();
            case "editor":
                return this.editorModels();
            case "local":
                return this.local();
            case "remove":
                await this.remove();
                return false;
            default:
                return step.service === LOCAL ? this.local() : this.key(step.service);
        }
    }

    /** The model that was chosen. One that needs a key is chosen as soon as it has one. */
    async pickModel(models: readonly ModelInfo[], current: string | undefined, used: number): Promise<string | undefined> {
        const items = rows(models, current, used).flatMap(({ label, description, icon, group, choice }): Array<Item<typeof choice>> => [
            ...(group === undefined ? [] : [{ label: group, kind: vscode.QuickPickItemKind.Separator } as const]),
            { label, ...(description === undefined ? {} : { description }), ...(icon === undefined ? {} : { iconPath: new vscode.ThemeIcon(icon) }), value: choice },
        ]);
        const choice = await pick(MODELS.title, MODELS.search, items);
        if (choice === undefined) {
            return undefined;
        }
        if (choice === "services") {
            return (await this.begin()) ? this.pickModel((await this.server.request(ModelListRequest, {})).models, current, used) : undefined;
        }
        return "needsKey" in choice && !(await this.key(choice.needsKey)) ? undefined : choice.model;
    }

    private async chooseService(): Promise<Step | undefined> {
        const [{ services }, kept, found] = await Promise.all([this.server.request(CredentialsListRequest, {}), this.keys.kept(), this.look()]);
        const items: Array<Item<Step>> = services.filter((each) => each.takesKey && (each.needsKey || !each.isUsualAddress)).map((each) => ({
            label: serviceOf(each.provider),
            description: `${SERVICES[each.provider]?.models ?? each.title} · ${stateOf(each)}`,
            iconPath: new vscode.ThemeIcon(each.isReady ? "pass" : "key"),
            value: { service: each.provider },
        }));
        items.push({ label: KEYS.other, description: KEYS.otherDetail, iconPath: new vscode.ThemeIcon("server"), value: "other" }, { label: "", kind: vscode.QuickPickItemKind.Separator });
        items.push({ label: KEYS.ofEditor, description: KEYS.ofEditorDetail, iconPath: new vscode.ThemeIcon("vm"), value: "editor" });
        items.push({ label: KEYS.local, description: found === undefined ? KEYS.localIdle : KEYS.localReady(found.models.length), iconPath: new vscode.ThemeIcon("vm"), value: "local" });
        if (kept.length > 0) {
            items.push({ label: "", kind: vscode.QuickPickItemKind.Separator }, { label: KEYS.remove, iconPath: new vscode.ThemeIcon("trash"), value: "remove" });
        }
        return pick(KEYS.title, KEYS.which, items);
    }

    private async look(): Promise<CheckCredentialsResult | undefined> {
        const answer = await this.check({ provider: LOCAL });
        return answer.verdict === "accepted" ? answer : undefined;
    }

    /** A failure of the server itself says as little as one of the service. */
    private check(params: { provider: string; key?: string; address?: string }): Promise<CheckCredentialsResult> {
        return this.server.request(CredentialsCheckRequest, params).catch((error: unknown) => ({ verdict: "unclear" as const, message: toFailure(error).sentence, models: [] }));
    }

    private async key(provider: string): Promise<boolean> {
        const service = serviceOf(provider);
        const key = await this.askKey(provider, KEYS.keyTitle(service), KEYS.keyPrompt(service), service);
        if (key === undefined) {
            return false;
        }
        await this.keys.keep(provider, key);
        const { models } = await this.server.request(ModelListRequest, {});
        this.say(KEYS.saved(service, models.filter((each) => each.provider === provider && each.isAvailable).length));
        return true;
    }

    /** A key that the service takes, or that the user wants to keep though it could not be asked. */
    private askKey(provider: string, title: string, prompt: string, service: string, address?: string): Promise<string | undefined> {
        return ask({ title, prompt, placeHolder: SERVICES[provider]?.example ?? "", password: true, value: "" }, async (typed) => {
            const key = typed.trim() === "" && address !== undefined ? NO_KEY : typed.trim();
            if (key === "") {
                return { problem: KEYS.empty };
            }
            const answer = await this.check({ provider, key, ...(address === undefined ? {} : { address }) });
            if (answer.verdict === "accepted") {
                return { value: key };
            }
            if (answer.verdict === "refused") {
                return { problem: KEYS.refused(service) };
            }
            const chosen = await vscode.window.showWarningMessage(asWords(KEYS.unchecked(answer.message)), KEYS.keepAnyway, KEYS.tryAgain);
            return chosen === KEYS.keepAnyway ? { value: key } : { problem: KEYS.unchecked(answer.message) };
        });
    }

    private async other(): Promise<boolean> {
        const address = await ask({ title: KEYS.address, prompt: KEYS.addressPrompt, placeHolder: "http://localhost:8000/v1", password: false, value: "" }, (typed) =>
            Promise.resolve(/^https?:\/\/[^\s@?]+$/.test(typed.trim()) ? { value: typed.trim().replace(/\/$/, "") } : { problem: KEYS.badAddress }),
        );
        if (address === undefined) {
            return false;
        }
        const service = new URL(address).host;
        const key = await this.askKey(IMITATED, KEYS.keyTitle(service), KEYS.otherKeyPrompt, service, address);
        if (key === undefined) {
            return false;
        }
        await setAddress(IMITATED, address);
        await this.keys.keep(IMITATED, key, address);
        const { models } = await this.check({ provider: IMITATED, key, address });
        await this.listed(IMITATED, models);
        this.say(KEYS.saved(service, models.length));
        return true;
    }

    private async editorModels(): Promise<boolean> {
        if ((await vscode.lm.selectChatModels()).every((each) => each.vendor === "palimpsest")) {
            void vscode.window.showInformationMessage(KEYS.noEditorModels);
            return false;
        }
        await vscode.workspace.getConfiguration("palimpsest").update("editorModels", true, vscode.ConfigurationTarget.Global);
        await this.offerEditorModels();
        await this.until((models) => models.some((each) => each.provider === "editor" && each.isAvailable));
        return true;
    }

    private async local(): Promise<boolean> {
        const { services } = await this.server.request(CredentialsListRequest, {});
        const known = services.find((each) => each.provider === LOCAL);
        let found = await this.look();
        let address = known?.address;
        if (found === undefined || found.models.length === 0) {
            let models: readonly string[] = [];
            address = await ask({ title: KEYS.ollamaTitle, prompt: KEYS.ollamaPrompt, placeHolder: "http://localhost:11434", password: false, value: known?.address ?? "" }, async (typed) => {
                const at = /^https?:\/\//.test(typed.trim()) ? typed.trim().replace(/\/$/, "") : `http://${typed.trim()}`;
                const answer = await this.check({ provider: LOCAL, address: at });
                models = answer.models;
                return answer.verdict !== "accepted" ? { problem: KEYS.ollamaAway(at) } : models.length === 0 ? { problem: KEYS.ollamaEmpty } : { value: at };
            });
            if (address === undefined) {
                return false;
            }
            found = { verdict: "accepted", message: "", models: [...models] };
        }
        if (known?.isReady !== true || address !== known.address) {
            await setAddress(LOCAL, address ?? "");
        }
        await this.listed(LOCAL, found.models);
        this.say(KEYS.connected(found.models.length));
        return true;
    }

    private async remove(): Promise<void> {
        const items = (await this.keys.kept()).map((provider) => ({ label: serviceOf(provider), iconPath: new vscode.ThemeIcon("key"), value: provider }));
        const provider = await pick(KEYS.removeTitle, KEYS.elsewhere, items);
        if (provider !== undefined) {
            await this.keys.remove(provider);
            this.say(KEYS.removed(serviceOf(provider)));
        }
    }

    /** The server reads the setting, and asks the service, in its own time. */
    private async listed(provider: string, names: readonly string[]): Promise<void> {
        const wanted = new Set(names.map((name) => `${provider}/${name}`));
        await this.until((models) => wanted.size === 0 || models.some((each) => each.isAvailable && wanted.has(each.name)));
    }

    private async until(isSo: (models: readonly ModelInfo[]) => boolean): Promise<void> {
        for (const end = performance.now() + LISTED_MS; performance.now() < end; ) {
            if (isSo((await this.server.request(ModelListRequest, {})).models)) {
                return;
            }
            await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        }
    }

    private say(sentence: string): void {
        void vscode.window.showInformationMessage(asWords(sentence));
    }
}

function stateOf(service: ServiceInfo): string {
    if (service.isReady) {
        return service.source === "environment" ? KEYS.isSetElsewhere : KEYS.isSet;
    }
    return SERVICES[service.provider]?.site ?? service.title;
}

async function setAddress(provider: string, address: string): Promise<void> {
    const settings = vscode.workspace.getConfiguration("palimpsest");
    const before = settings.get<Record<string, object>>("providers", {});
    await settings.update("providers", { ...before, [provider]: { ...before[provider], base_url: address } }, vscode.ConfigurationTarget.Global);
}
