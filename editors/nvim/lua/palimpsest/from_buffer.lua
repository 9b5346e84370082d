--- What the user attaches to the next message from a buffer: its file, some of its lines, its diagnostics.
local tell = require("palimpsest.tell")
local texts = require("palimpsest.texts")

local M = {}

--- How the files of pictures begin.
local HEADS = { "\137PNG\r\n\26\n", "\255\216\255", "GIF87a", "GIF89a", "RIFF" }

--- A picture that lies outside of the folder: the user names it, so its bytes are sent. Nil for any other file.
local function picture_elsewhere(path)
  local file = not vim.startswith(path, vim.fn.getcwd() .. "/") and io.open(path, "rb")
  if not file then
    return nil
  end
  local head = file:read(8) or ""
  local is_picture = vim.iter(HEADS):any(function(each)
    return vim.startswith(head, each)
  end)
  local data = is_picture and head .. (file:read("*a") or "")
  file:close()
  return data and { type = "image", name = vim.fs.basename(path), data = vim.base64.encode(data) } or nil
end

--- The lines that a command was given: of a file by their numbers, of a terminal and the like as they are shown.
---@param call palimpsest.Call
---@return palimpsest.Attachment
function M.range(call)
  local bufnr = vim.api.nvim_get_current_buf()
  if vim.bo[bufnr].buftype == "" and vim.api.nvim_buf_get_name(bufnr) ~= "" then
    return { type = "range", path = vim.uri_from_bufnr(bufnr), startLine = call.line1, endLine = call.line2 }
  end
  local lines = vim.api.nvim_buf_get_lines(bufnr, call.line1 - 1, call.line2, false)
  local path = vim.bo[bufnr].buftype == "terminal" and "terminal" or nil
  return { type = "selection", path = path, text = table.concat(lines, "\n") }
end

---@param chat palimpsest.Chat
---@param call palimpsest.Call
function M.file(chat, argument, call)
  local bufnr = vim.api.nvim_get_current_buf()
  local attachment, label
  if argument ~= "" then
    local path = vim.fn.fnamemodify(argument, ":p")
    attachment, label = picture_elsewhere(path) or { type = "file", path = path }, argument
  elseif (call.range or 0) > 0 then
    attachment = M.range(call)
  elseif vim.bo[bufnr].buftype == "terminal" then
    attachment = { type = "selection", path = "terminal", text = require("palimpsest.terminal").text(bufnr) }
  elseif vim.bo[bufnr].buftype ~= "" or vim.api.nvim_buf_get_name(bufnr) == "" then
    tell.info(texts.nothing.file)
    return
  else
    attachment = { type = "file", path = vim.uri_from_bufnr(bufnr) }
  end
  local is_file = vim.bo[bufnr].buftype == "" and vim.api.nvim_buf_get_name(bufnr) ~= ""
  label = label or is_file and vim.fs.basename(vim.api.nvim_buf_get_name(bufnr)) or attachment.path or attachment.type
  chat:open()
  chat.input:attach(label, attachment)
end

---@param chat palimpsest.Chat
function M.diagnostics(chat)
  local bufnr = vim.api.nvim_get_current_buf()
  local severities = { "error", "warning", "information", "hint" }
  local found = vim.tbl_map(function(each)
    return {
      path = vim.uri_from_bufnr(bufnr),
      line = each.lnum + 1,
      severity = severities[each.severity],
      message = each.message,
      source = each.source,
      code = each.code and tostring(each.code) or nil,
    }
  end, vim.diagnostic.get(bufnr))
  if #found == 0 then
    tell.info(texts.nothing.problems)
    return
  end
  chat:open()
  chat.input:attach(texts.problems, { type = "diagnostics", diagnostics = found })
end

return M
