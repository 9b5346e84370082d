--- The buffer a message is typed in: its keys, its draft, completion, and what is attached to it.
local client = require("palimpsest.client")
local config = require("palimpsest.config")
local methods = require("palimpsest.protocol").methods
local tell = require("palimpsest.tell")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")
local window = require("palimpsest.chat.window")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("palimpsest_input")
local DRAFT_DELAY_MS = 400
local COMPLETION_WAIT_MS = 1000

---@class palimpsest.Input
---@field buf integer
---@field chat palimpsest.Chat
---@field attachments { label: string, attachment: palimpsest.Attachment }[]
---@field private mentions table<string, string> Paths by what was inserted for them.
---@field private saved string The draft as the server has it.
---@field private timer uv.uv_timer_t
local Input = {}
Input.__index = Input

---@type table<integer, palimpsest.Input>
local by_buffer = {}

--- Drafts that the server has not answered yet, by conversation.
---@type table<string, string>
local on_its_way = {}

---@param chat palimpsest.Chat
---@return palimpsest.Input
function M.create(chat)
  local buf = vim.api.nvim_create_buf(false, true)
  local input = setmetatable({
    buf = buf,
    chat = chat,
    attachments = {},
    mentions = {},
    saved = "",
    timer = assert(vim.uv.new_timer()),
  }, Input)
  by_buffer[buf] = input
  vim.b[buf].palimpsest_root = chat.root
  window.name_buffer(buf, chat.root, texts.buffers.message)
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile, options.modeline = "nofile", "hide", false, false
  options.filetype = "palimpsest-input"
  options.completefunc = "v:lua.require'palimpsest.chat.input'.complete"
  options.omnifunc = options.completefunc
  options.completeopt = "menuone,noinsert,popup"
  input:_map_keys()
  input:_watch()
  return input
end

function Input:is_valid()
  return vim.api.nvim_buf_is_valid(self.buf)
end

---@private
function Input:_map_keys()
  local keys = config.current.keys
  local function map(mode, lhs, action, desc)
    vim.keymap.set(mode, lhs, action, { buffer = self.buf, desc = texts.keys.prefix .. desc })
  end
  if keys.send then
    local function send()
      self.chat:send()
    end
    map("n", keys.send[1], send, texts.keys.send)
    map({ "n", "i" }, keys.send[2], send, texts.keys.send)
  end
  if keys.stop then
    map("n", keys.stop, function()
      self.chat:stop()
    end, texts.keys.stop)
  end
  if keys.close then
    map("n", keys.close, function()
      self.chat:close()
    end, texts.keys.close)
  end
end

---@private
function Input:_watch()
  local group = vim.api.nvim_create_augroup("palimpsest_input_" .. self.buf, {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = self.buf, callback = callback })
  end
  on({ "TextChanged", "TextChangedI", "TextChangedP" }, function()
    self.timer:start(
      DRAFT_DELAY_MS,
      0,
      vim.schedule_wrap(function()
        self:save_draft()
      end)
    )
  end)
  on("TextChangedI", function()
    self:_offer_completion()
  end)
  on({ "BufLeave", "BufHidden", "InsertLeave" }, function()
    self:save_draft()
  end)
  on("CompleteDone", function()
    local item = vim.v.completed_item
    local found = type(item) == "table" and item.user_data
    if type(found) == "table" and found.palimpsest_path then
      self.mentions[item.word] = found.palimpsest_path
    end
  end)
  on("BufWipeout", function()
    self:save_draft()
    self.timer:close()
    by_buffer[self.buf] = nil
  end)
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    callback = function()
      self:save_draft(true)
    end,
  })
end

---@return string
function Input:text()
  if not self:is_valid() then
    return self.saved
  end
  return table.concat(vim.api.nvim_buf_get_lines(self.buf, 0, -1, false), "\n")
end

---@param value string
function Input:set_text(value)
  if not self:is_valid() then
    return
  end
  local lines = vim.split(text.sanitise(value), "\n", { plain = true })
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
  end
end

--- What the server holds is shown, unless something is typed already. A draft that is on its way to the server is newer
--- than the server's answer.
---@param draft string
function Input:take_draft(draft)
  draft = on_its_way[self.chat.conversation_id] or draft
  self.saved = draft
  if draft ~= "" and self:text() == "" then
    self:set_text(draft)
  end
end

--- A draft belongs to a conversation: before there is one it stays in the buffer.
---@param is_leaving? boolean Whether Neovim ends, so that only a short wait sends it.
function Input:save_draft(is_leaving)
  local chat, draft = self.chat, self:text()
  if not chat.conversation_id or draft == self.saved or not client.get(chat.root) then
    return
  end
  self.saved = draft
  local id = chat.conversation_id
  local params = { conversationId = id, text = draft }
  if is_leaving then
    client.request_sync(chat.root, methods.DraftSetRequest, params, 500)
  else
    on_its_way[id] = draft
    client.request(chat.root, methods.DraftSetRequest, params, function(err)
      if on_its_way[id] == draft then
        on_its_way[id] = nil
      end
      if err and self.saved == draft then
        self.saved = "" -- Tried again with the next change.
      end
    end)
  end
end

--- The message is gone from here: the server forgets its draft when it takes the message.
---@return string message
---@return palimpsest.Attachment[] attachments
function Input:take()
  local message = self:text()
  local attachments = vim.tbl_map(function(each)
    return each.attachment
  end, self.attachments)
  for inserted, path in vim.spairs(self.mentions) do
    if message:find(inserted, 1, true) then
      table.insert(attachments, { type = "file", path = path })
    end
  end
  self.timer:stop()
  self.taken = { attachments = self.attachments, mentions = self.mentions }
  self.attachments, self.mentions, self.saved = {}, {}, ""
  self:set_text("")
  self:_show_attachments()
  return message, attachments
end

--- Nothing came of what was taken.
---@param message string
function Input:give_back(message)
  if self:text() == "" then
    self:set_text(message)
    if self.taken then
      self.attachments, self.mentions = self.taken.attachments, self.taken.mentions
      self:_show_attachments()
    end
  end
end

---@param label string
---@param attachment palimpsest.Attachment
function Input:attach(label, attachment)
  table.insert(self.attachments, { label = label, attachment = attachment })
  self:_show_attachments()
  local params = { attachments = { attachment }, conversationId = self.chat.conversation_id }
  params.folderUri = not self.chat.conversation_id and self.chat.folder or nil
  client.request(self.chat.root, methods.AttachmentsEstimateRequest, params, function(err, result)
    local estimate = result and result.attachments[1]
    if err or (estimate and estimate.problem) then
      tell.warn(err and err.message or estimate.problem)
      self.attachments = vim.tbl_filter(function(each)
        return each.attachment ~= attachment
      end, self.attachments)
    elseif estimate then
      for _, each in ipairs(self.attachments) do
        if each.attachment == attachment then
          each.label = texts.attached_size:format(estimate.label, estimate.tokens)
        end
      end
    end
    self:_show_attachments()
  end)
end

---@private
function Input:_show_attachments()
  if not self:is_valid() then
    return
  end
  vim.api.nvim_buf_clear_namespace(self.buf, NAMESPACE, 0, -1)
  if #self.attachments == 0 then
    return
  end
  local lines = vim.tbl_map(function(each)
    return { { texts.attached:format(text.one_line(each.label)), "PalimpsestAbout" } }
  end, self.attachments)
  vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, vim.api.nvim_buf_line_count(self.buf) - 1, 0, {
    virt_lines = lines,
  })
end

--- What to ask completion for, at the cursor.
---@private
---@return palimpsest.CompleteMentionsParams
---@return integer offset Of the cursor's line in the text, in bytes.
function Input:_completion_params()
  local row, col = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.api.nvim_buf_get_lines(self.buf, 0, row, false)
  local line = table.remove(lines)
  local before = #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
  local typed = before .. line:sub(1, col)
  local chat = self.chat
  return {
    text = typed,
    position = vim.str_utfindex(typed, "utf-16"),
    conversationId = chat.conversation_id,
    folderUri = not chat.conversation_id and chat.folder or nil,
  },
    #before
end

---@param result palimpsest.CompleteMentionsResult
local function to_menu(result)
  return vim.tbl_map(function(item)
    return {
      word = item.insertText,
      abbr = text.one_line(item.label),
      menu = text.one_line(item.detail),
      user_data = { palimpsest_path = item.kind == "file" and item.path or nil },
    }
  end, result.items)
end

---@private
function Input:_offer_completion()
  local col = vim.fn.col(".") - 1
  local typed = vim.api.nvim_get_current_line():sub(col, col)
  if not config.current.complete_on_type or (typed ~= "@" and typed ~= "/") or vim.fn.pumvisible() == 1 then
    return
  end
  local params, offset = self:_completion_params()
  local tick = vim.b[self.buf].changedtick
  client.request(self.chat.root, methods.MentionsCompleteRequest, params, function(err, result)
    local is_here = vim.api.nvim_get_current_buf() == self.buf and vim.api.nvim_get_mode().mode:sub(1, 1) == "i"
    if err or not is_here or vim.b[self.buf].changedtick ~= tick or #result.items == 0 then
      return
    end
    vim.fn.complete(vim.str_byteindex(params.text, "utf-16", result.start) - offset + 1, to_menu(result))
  end)
end

---@type palimpsest.CompleteMentionsResult|nil Found when Vim asked where, told when it asks what.
local found

--- For 'completefunc' and 'omnifunc'.
---@param findstart integer
function M.complete(findstart)
  local input = by_buffer[vim.api.nvim_get_current_buf()]
  if findstart == 0 then
    return found and to_menu(found) or {}
  end
  found = nil
  if not input then
    return -3
  end
  local params, offset = input:_completion_params()
  found = client.request_sync(input.chat.root, methods.MentionsCompleteRequest, params, COMPLETION_WAIT_MS)
  if not found then
    return -3
  end
  return vim.str_byteindex(params.text, "utf-16", found.start) - offset
end

return M
