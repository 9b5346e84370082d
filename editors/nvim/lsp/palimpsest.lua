return require("palimpsest.client").lsp_config()
