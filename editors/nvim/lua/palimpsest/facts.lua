--- Facts where they stand in files: their diagnostics, and the commands of code actions and lenses that open something.
local M = {}

local texts = require("palimpsest.texts").facts

local EXECUTE = "workspace/executeCommand"
local PULL = "textDocument/diagnostic"

--- Where Neovim keeps the diagnostics that it pulls.
---@param running vim.lsp.Client Initialised.
---@return integer
function M.namespace(running)
  local identifier = vim.tbl_get(running.server_capabilities, "diagnosticProvider", "identifier")
  return vim.lsp.diagnostic.get_namespace(running.id, identifier)
end

--- Beside a line there is room for the fact, hardly for what the line was and is: that is in the whole message.
---@param diagnostic { message: string }
---@return string
function M.beside_line(diagnostic)
  local fact = diagnostic.message:match(texts.question_before .. "(.+)$")
  return fact and texts.stale .. fact or diagnostic.message
end

--- Pulls the diagnostics of the folder's buffers. A fact changes by what is said of it and by what is written to disk,
--- but Neovim 0.11 pulls only when a buffer changes, and does not hear `workspace/diagnostic/refresh`.
---@param client_id integer
function M.look_again(client_id)
  local running = vim.lsp.get_client_by_id(client_id)
  if not running or vim.tbl_get(running.capabilities, "workspace", "diagnostics", "refreshSupport") then
    return
  end
  for bufnr in pairs(running.attached_buffers) do
    if vim.api.nvim_buf_is_loaded(bufnr) and running:supports_method(PULL, bufnr) then
      running:request(PULL, { textDocument = vim.lsp.util.make_text_document_params(bufnr) }, nil, bufnr)
    end
  end
end

---@param ctx { client_id: integer }
---@return string|nil
local function root_of(ctx)
  local running = vim.lsp.get_client_by_id(ctx.client_id)
  return running and running.root_dir
end

--- Shows a conversation that begins with a draft. What is typed and belongs to no conversation yet stays, above it.
---@param chat palimpsest.Chat
---@param asked { conversationId: string, draft: string }
local function show_draft(chat, asked)
  if chat.conversation_id == asked.conversationId then
    return
  end
  local typed = chat.conversation_id == nil and chat.input:text() or ""
  chat:show(asked.conversationId)
  if vim.trim(typed) ~= "" then
    chat.input:set_text(typed .. "\n\n" .. asked.draft)
  end
end

--- By name, as `vim.lsp.ClientConfig` takes them. Those that are not here run on the server and need nothing of us.
---@type table<string, fun(command: lsp.Command, ctx: { client_id: integer })>
M.commands = {
  ["palimpsest.fact.ask"] = function(command, ctx)
    local root = root_of(ctx)
    if not root then
      return
    end
    local params = { command = command.command, arguments = command.arguments }
    require("palimpsest.client").request(root, EXECUTE, params, function(err, asked)
      if err then
        return require("palimpsest.tell").failed(err)
      end
      local chat = require("palimpsest.chat").get(root)
      chat:open(function()
        show_draft(chat, asked)
      end)
    end)
  end,
  -- The server shows a document with an address of its own kind, which Neovim cannot open.
  ["palimpsest.facts.show"] = function(_, ctx)
    local root = root_of(ctx)
    if root then
      require("palimpsest.quickfix").facts(require("palimpsest.chat").get(root), "")
    end
  end,
}

return M
