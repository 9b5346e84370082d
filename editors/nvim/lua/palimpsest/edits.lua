--- Edits of files that the user accepted: listed, compared, and taken back by the server through Neovim's own edit.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local text = require("palimpsest.text")
local texts = require("palimpsest.texts").edits

local M = {}

--- Neovim ends the last line of a new buffer itself; with the end that the text brings, there would be an empty line.
---@param changes table[]
local function without_last_ends(changes)
  local is_new = {}
  for _, change in ipairs(changes) do
    is_new[change.uri or ""] = change.kind == "create" or nil
    local edits = change.textDocument and is_new[change.textDocument.uri] and change.edits or {}
    for _, edit in ipairs(edits) do
      edit.newText = edit.newText:gsub("\r?\n$", "")
    end
  end
end

--- `workspace/applyEdit`. Neovim leaves out an edit of a buffer that is newer, says nothing of it, and deletes what it
--- is told to delete: here all of it is refused then. An edit is undone by itself, also while somebody types, and what
--- Neovim opened for it is shown to the server.
---@param err lsp.ResponseError|nil
---@param params lsp.ApplyWorkspaceEditParams
---@param ctx lsp.HandlerContext
---@return lsp.ApplyWorkspaceEditResult
function M.apply(err, params, ctx)
  local changes = params.edit.documentChanges or {}
  for _, change in ipairs(changes) do
    local document = change.textDocument
    if document and type(document.version) == "number" then
      if vim.lsp.util.buf_versions[vim.uri_to_bufnr(document.uri)] ~= document.version then
        return { applied = false, failureReason = texts.newer }
      end
    end
  end
  for _, change in ipairs(changes) do
    local buf = change.textDocument and vim.uri_to_bufnr(change.textDocument.uri)
    if buf and vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modifiable then
      return { applied = false, failureReason = texts.locked }
    elseif buf and vim.api.nvim_buf_is_loaded(buf) then
      vim.bo[buf].undolevels = vim.bo[buf].undolevels -- begins another block of undo
    end
  end
  without_last_ends(changes)
  params.label = nil -- Neovim would print it over what the user is told.
  local result = vim.lsp.handlers["workspace/applyEdit"](err, params, ctx)
  for _, change in ipairs(changes) do
    if change.textDocument and result.applied then
      local buf = vim.uri_to_bufnr(change.textDocument.uri)
      if vim.api.nvim_buf_is_loaded(buf) and not vim.lsp.buf_is_attached(buf, ctx.client_id) then
        vim.lsp.buf_attach_client(buf, ctx.client_id)
      end
    end
  end
  local of = result.applied and vim.lsp.get_client_by_id(ctx.client_id)
  if of then
    -- Neovim tells what changed after a while, and before any notification: the answer says that it is done.
    of:notify("$/setTrace", { value = "off" })
  end
  return result
end

---@param chat palimpsest.Chat
---@param method string
---@param params table
---@param done fun(result: any)
local function ask(chat, method, params, done)
  params.conversationId = chat.conversation_id
  client.request(chat.root, method, params, function(err, result)
    if err then
      return tell.failed(err)
    end
    done(result)
  end)
end

--- What became of each file, into the chat.
---@param chat palimpsest.Chat
---@param files palimpsest.UndoneFile[]|nil
function M.note(chat, files)
  if not files or #files == 0 then
    return
  end
  local lines = {}
  for _, file in ipairs(files) do
    table.insert(lines, ("- `%s`: %s"):format(file.path, texts.outcomes[file.outcome]:format(file.reason or "")))
  end
  chat:note(table.concat(lines, "\n"))
end

---@param lines string[]
---@param name string
local function scratch(lines, name)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "wipe", false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.api.nvim_set_current_buf(buf)
  vim.wo.winbar = text.in_statusline(name)
  vim.cmd.diffthis()
end

---@param whole string|nil
local function lines_of(whole)
  local lines = vim.split((whole or ""):gsub("\r\n", "\n"), "\n", { plain = true })
  if lines[#lines] == "" then
    table.remove(lines)
  end
  return lines
end

--- The file before the edit, after it, and as it is now, beside each other in a tab.
---@param chat palimpsest.Chat
---@param change palimpsest.FileChange
function M.compare(chat, change)
  ask(chat, methods.TurnChangeTextsRequest, { changes = { change.id } }, function(found)
    local filetype = vim.filetype.match({ filename = found.path }) or ""
    vim.cmd.tabnew()
    scratch(lines_of(found.before), texts.before:format(found.path))
    vim.bo.filetype = filetype
    vim.cmd("rightbelow vsplit")
    scratch(lines_of(found.after), texts.after:format(found.path))
    vim.bo.filetype = filetype
    if found.now then
      vim.cmd("rightbelow vsplit " .. vim.fn.fnameescape(vim.uri_to_fname(change.uri)))
      vim.wo.winbar = text.in_statusline(texts.now:format(found.path))
      vim.cmd.diffthis()
    end
  end)
end

---@param chat palimpsest.Chat
---@param params { turnId?: string, changes?: string[], paths?: string[] }
function M.take_back(chat, params)
  ask(chat, methods.TurnUndoChangesRequest, params, function(result)
    M.note(chat, result.files)
  end)
end

---@param change palimpsest.FileChange
---@return string
local function line(change)
  local about = texts.states[change.state]
  if change.reason then
    about = ("%s: %s"):format(about, change.reason)
  end
  return ("%s  +%d -%d  %s"):format(text.one_line(change.path), change.added, change.removed, text.one_line(about))
end

---@param chat palimpsest.Chat
---@param change palimpsest.FileChange
local function choose(chat, change)
  local choices = change.canTakeBack and { texts.compare, texts.take_back } or { texts.compare }
  vim.ui.select(choices, { prompt = line(change), kind = "palimpsest_edit" }, function(choice)
    if choice == texts.compare then
      M.compare(chat, change)
    elseif choice == texts.take_back then
      M.take_back(chat, { changes = { change.id } })
    end
  end)
end

---@param chat palimpsest.Chat
function M.pick(chat)
  ask(chat, methods.TurnChangesRequest, {}, function(result)
    if #result.changes == 0 then
      return tell.info(texts.none)
    end
    local newest_first = {}
    for n = #result.changes, 1, -1 do
      table.insert(newest_first, result.changes[n])
    end
    vim.ui.select(
      newest_first,
      { prompt = texts.prompt, kind = "palimpsest_edits", format_item = line },
      function(change)
        if change then
          choose(chat, change)
        end
      end
    )
  end)
end

--- Asks before it takes back the edits of the last turn that made some, one, those of a file, or all.
---@param chat palimpsest.Chat
---@param which string As behind `/revert`.
function M.revert(chat, which)
  local asked = which == "" and texts.last or which
  vim.ui.select({ texts.take_back, texts.leave }, {
    prompt = texts.question:format(text.one_line(asked)),
    kind = "palimpsest_revert",
  }, function(choice)
    if choice == texts.take_back then
      chat:run_command(vim.trim("/revert " .. which))
    end
  end)
end

--- Asks whether edits of what will be hidden are to be taken back as well, where some stand.
---@param chat palimpsest.Chat
---@param turns table<string, boolean> The turns that will be hidden.
---@param done fun(takes_back: boolean|nil) Not called when the user wants neither.
function M.offer(chat, turns, done)
  client.request(chat.root, methods.TurnChangesRequest, { conversationId = chat.conversation_id }, function(err, result)
    local standing = vim.tbl_filter(function(change)
      return turns[change.turnId] and change.state ~= "takenBack"
    end, not err and result.changes or {})
    if #standing == 0 then
      return done(nil)
    end
    vim.ui.select({ texts.both, texts.only }, {
      prompt = texts.offer:format(text.counted(#standing, "edit")),
      kind = "palimpsest_hidden_edits",
    }, function(choice)
      if choice then
        done(choice == texts.both)
      end
    end)
  end)
end

return M
