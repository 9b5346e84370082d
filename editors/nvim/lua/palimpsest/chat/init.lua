--- The chat of a workspace folder: one conversation at a time, drawn from what the server says.
local client = require("palimpsest.client")
local texts = require("palimpsest.texts")

local M = {}

---@class palimpsest.CoveredRange
---@field id integer The summary.
---@field first integer
---@field last integer One more than the last message.

---@class palimpsest.Chat
---@field root string
---@field folder string Its URI.
---@field conversation_id? string Nil: the next message begins one.
---@field info? palimpsest.ConversationInfo
---@field usage? palimpsest.ContextUsage
---@field messages palimpsest.MessageInfo[]
---@field summaries palimpsest.CoveredRange[]
---@field notes { after: integer, text: string }[] What was said here and is stored nowhere.
---@field stream? palimpsest.Stream
---@field view palimpsest.View
---@field input palimpsest.Input
---@field windows? palimpsest.Windows
---@field activity? string
---@field model? palimpsest.ModelInfo The one that answers in a new conversation.
---@field stale_facts? integer
---@field hub? palimpsest.HubStatus
---@field used_at integer When somebody went to it last, in nanoseconds of `vim.uv.hrtime`.
---@field is_gone? boolean Whether its server ended and is to come again.
---@field private stored palimpsest.Entry[]
---@field private generation integer Grows when another conversation is shown: answers about the one before are late.
---@field private reading? "once"|"again"|"all"

-- Its methods, a file for each subject; "error": none may stand in two.
local Chat = {
  __index = vim.tbl_extend(
    "error",
    require("palimpsest.chat.panel"),
    require("palimpsest.chat.drawing"),
    require("palimpsest.chat.reading"),
    require("palimpsest.chat.turns")
  ),
}

---@type table<string, palimpsest.Chat> By folder.
local chats = {}

---@param root string
---@return palimpsest.Chat
function M.get(root)
  local chat = chats[root]
  if not chat then
    chat = setmetatable({
      root = root,
      folder = vim.uri_from_fname(root),
      messages = {},
      summaries = {},
      notes = {},
      stored = {},
      generation = 0,
    }, Chat)
    chats[root] = chat
  end
  chat.used_at = vim.uv.hrtime()
  return chat
end

--- The chat of the current buffer's folder, else the one used last, if there is one.
---@return palimpsest.Chat|nil
function M.current()
  local chat = vim.b.palimpsest_root and chats[vim.b.palimpsest_root]
  if chat then
    return chat
  end
  for _, each in pairs(chats) do
    if not chat or each.used_at > chat.used_at then
      chat = each
    end
  end
  return chat
end

---@param chat palimpsest.Chat
---@param event palimpsest.ContextEvent
local function hear_context(chat, event)
  if event.type == "context_summarization_start" or event.type == "context_summarization_progress" then
    if event.totalItems then
      chat.activity = texts.bar.summarizing:format(event.itemsProcessed or 0, event.totalItems)
    end
  elseif event.type == "context_not_recalled" then
    chat:note(texts.full)
  else
    chat.activity = nil
    if event.error then
      chat:note(event.error)
    end
    chat:_ask_summaries()
  end
  chat:_draw_bar()
end

client.subscribe(function(event, root, params)
  local chat = chats[root]
  if not chat or not chat.view then
    return
  end
  if event == "gone" then
    chat.is_gone = not params.is_wanted
    chat.reading = nil
    chat.activity = nil
    chat:_draw_bar()
  elseif event == "ready" then
    chat.is_gone = false
    if chat.conversation_id then
      chat:reload()
    end
    chat:_draw_bar()
  elseif event == "facts" then
    chat.stale_facts = params.stale
    chat:_draw_bar()
  elseif event == "hub" then
    chat.hub = params
    chat:_draw_bar()
  elseif params.conversationId ~= chat.conversation_id then
    return
  elseif event == "presence" then
    if chat.info and chat.info.shared then
      chat.info.shared.writer = params.writer
    end
    chat:_draw_bar()
    if not chat:is_answering() then
      chat:_read("once")
    end
  elseif event == "conversation" then
    if not chat:is_answering() then
      chat:_read("once")
    end
  elseif event == "usage" then
    local n_before = chat.usage and chat.usage.summaryCount or 0
    chat:_take_usage(params.usage)
    if params.usage.summaryCount ~= n_before then
      chat:_ask_summaries()
    end
  elseif event == "context" then
    hear_context(chat, params)
  end
end)

return M
