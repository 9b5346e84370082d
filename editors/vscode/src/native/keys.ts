/** Keys of models' services: kept in VS Code's secret store, sent to each server that starts, written nowhere else. */
import type { SecretStorage } from "vscode";

import type { ServerPort } from "../port";
import { CredentialsSetRequest } from "../protocol.gen";
import { PROVIDERS_WITH_KEY } from "../providers.gen";

const name = (provider: string): string => `palimpsest.key.${provider}`;

export class Keys {
    constructor(
        private readonly secrets: SecretStorage,
        private readonly server: ServerPort,
    ) {}

    async sendAll(): Promise<void> {
        for (const provider of PROVIDERS_WITH_KEY) {
            const key = await this.secrets.get(name(provider));
            if (key !== undefined) {
                await this.server.request(CredentialsSetRequest, { provider, key });
            }
        }
    }

    async keep(provider: string, key: string): Promise<void> {
        await this.server.request(CredentialsSetRequest, { provider, key });
        await this.secrets.store(name(provider), key);
    }

    async remove(provider: string): Promise<void> {
        await this.server.request(CredentialsSetRequest, { provider, key: null });
        await this.secrets.delete(name(provider));
    }

    /** The services whose key is kept here. */
    async kept(): Promise<string[]> {
        const found = await Promise.all(PROVIDERS_WITH_KEY.map(async (provider) => ((await this.secrets.get(name(provider))) === undefined ? [] : [provider])));
        return found.flat();
    }
}
