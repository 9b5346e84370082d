/** Keys of models' services: kept in VS Code's secret store, sent to each server that starts, written nowhere else. */
import type { SecretStorage } from "vscode";

import type { ServerPort } from "../port";
import { CredentialsListRequest, CredentialsSetRequest, type ServiceInfo } from "../protocol.gen";

const name = (provider: string): string => `palimpsest.key.${provider}`;

/** A key with the address that it was given for. Keys that were kept before addresses were are the bare text. */
interface Kept {
    key: string;
    address?: string;
}

export class Keys {
    constructor(
        private readonly secrets: SecretStorage,
        private readonly server: ServerPort,
    ) {}

    async sendAll(): Promise<void> {
        for (const { provider } of await this.services()) {
            const text = await this.secrets.get(name(provider));
            if (text !== undefined) {
                await this.server.request(CredentialsSetRequest, { provider, ...read(text) });
            }
        }
    }

    /** `given`: the address that the key is for, where the server may not have heard of it yet. */
    async keep(provider: string, key: string, given?: string): Promise<void> {
        const address = given ?? (await this.services()).find((each) => each.provider === provider)?.address;
        const kept: Kept = address === undefined ? { key } : { key, address };
        await this.server.request(CredentialsSetRequest, { provider, ...kept });
        await this.secrets.store(name(provider), JSON.stringify(kept));
    }

    async remove(provider: string): Promise<void> {
        await this.server.request(CredentialsSetRequest, { provider, key: null });
        await this.secrets.delete(name(provider));
    }

    /** The services whose key is kept here. */
    async kept(): Promise<string[]> {
        const services = await this.services();
        const found = await Promise.all(services.map(async ({ provider }) => ((await this.secrets.get(name(provider))) === undefined ? [] : [provider])));
        return found.flat();
    }

    /** Those that take a key. */
    private async services(): Promise<ServiceInfo[]> {
        const { services } = await this.server.request(CredentialsListRequest, {});
        return services.filter((each) => each.takesKey);
    }
}

function read(text: string): Kept {
    try {
        const kept: unknown = JSON.parse(text);
        if (typeof kept === "object" && kept !== null && "key" in kept && typeof kept.key === "string") {
            return kept as Kept;
        }
    } catch {
        // a bare text
    }
    return { key: text };
}
