throw new Error("A module that is tested here must not import `vscode`.");
