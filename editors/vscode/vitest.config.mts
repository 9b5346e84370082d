import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
    test: {
        include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
        testTimeout: 10_000,
        pool: "threads",
    },
    // Outside an editor there is no `vscode`; modules that need it have no tests here.
    resolve: { alias: { vscode: fileURLToPath(new URL("test/no-vscode.ts", import.meta.url)) } },
});
