/** Keys of models' services: kept in VS Code's secret store, sent to each server that starts, written nowhere else. */
import * as vscode from "vscode";

import type { ServerPort } from "../port";
import { CredentialsSetRequest } from "../protocol.gen";
import { PROVIDERS_WITH_KEY } from "../providers.gen";

const name = (provider: string): string => `palimpsest.key.${provider}`;

export class Keys {
    constructor(
        private readonly secrets: vscode.SecretStorage,
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

    async ask(): Promise<void> {
        const provider = await vscode.window.showQuickPick([...PROVIDERS_WITH_KEY], { title: "Key of which service?" });
        if (provider === undefined) {
            return;
        }
        const key = await vscode.window.showInputBox({ title: `Key for ${provider}`, prompt: "Empty removes it.", password: true, ignoreFocusOut: true });
        if (key === undefined) {
            return;
        }
        const { message } = await this.server.request(CredentialsSetRequest, { provider, key: key === "" ? null : key });
        if (key === "") {
            await this.secrets.delete(name(provider));
        } else {
            await this.secrets.store(name(provider), key);
        }
        void vscode.window.showInformationMessage(message);
    }
}
