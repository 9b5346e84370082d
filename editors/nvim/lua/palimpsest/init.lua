--- Palimpsest: the conversation of a workspace folder, in Neovim. The server keeps it; this draws it and asks.
local M = {}

--- Optional. May be called again.
---@param config? palimpsest.Config
function M.setup(config)
  require("palimpsest.config").set(config or {})
end

--- For 'statusline': how full the context of the folder's conversation is, and whether an answer is coming.
--- Use it as `%{v:lua.require'palimpsest'.statusline()}`, so that nothing in it counts as an item.
---@return string
function M.statusline()
  return require("palimpsest.statusline").component()
end

--- Opens the chat of the current buffer's folder.
function M.open()
  require("palimpsest.commands").run({ fargs = { "open" } })
end

--- Sends a message to the current buffer's folder, as if it had been typed into its chat.
---@param text string
function M.ask(text)
  require("palimpsest.commands").run({ fargs = vim.list_extend({ "ask" }, { text }) })
end

return M
