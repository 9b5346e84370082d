--- Chats about code: the commands of code actions, whose draft goes behind what is typed in the panel.
local M = {}

local EXECUTE = "workspace/executeCommand"

---@param root string
---@param draft string
local function add_draft(root, draft)
  local chat = require("palimpsest.chat").get(root)
  chat:open(function()
    local typed = vim.trim(chat.input:text())
    chat.input:set_text(typed == "" and draft or typed .. "\n\n" .. draft)
  end)
end

---@param command lsp.Command
---@param ctx { client_id: integer }
local function ask(command, ctx)
  local running = vim.lsp.get_client_by_id(ctx.client_id)
  local root = running and running.root_dir
  if not root then
    return
  end
  local params = { command = command.command, arguments = command.arguments }
  require("palimpsest.client").request(root, EXECUTE, params, function(err, answer)
    if err then
      return require("palimpsest.tell").failed(err)
    end
    add_draft(root, answer.draft)
  end)
end

---@type table<string, fun(command: lsp.Command, ctx: { client_id: integer })>
M.commands = {
  ["palimpsest.code.explain"] = ask,
  ["palimpsest.code.ask"] = ask,
  ["palimpsest.code.tests"] = ask,
  ["palimpsest.code.fix"] = ask,
}

return M
