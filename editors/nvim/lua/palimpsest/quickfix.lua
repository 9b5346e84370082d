--- Facts, conversations and found messages in the quickfix list.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")

local M = {}

local METHOD_NOT_FOUND = -32601
-- What the protocol allows.
local MAX_LISTED, MAX_FOUND = 1000, 100

---@param title string
---@param items table[]
local function fill(title, items)
  if #items == 0 then
    tell.info(texts.nothing.listed:format(title))
    return
  end
  vim.fn.setqflist({}, " ", { title = title, items = items })
  vim.cmd("botright copen")
end

--- A stand-in for a conversation in a list: entering it shows the conversation.
---@param chat palimpsest.Chat
---@param conversation_id string
---@param message_id? integer
---@return integer bufnr
local function door(chat, conversation_id, message_id)
  local name = ("palimpsest://conversation/%s%s"):format(conversation_id, message_id and "/" .. message_id or "")
  local known = vim.fn.bufnr("^" .. name .. "$")
  if known > 0 then
    return known
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "hide", false
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    callback = vim.schedule_wrap(function()
      local win = vim.fn.win_findbuf(buf)[1]
      if win then
        -- The window shows what it showed before, and the chat opens in its own.
        vim.api.nvim_win_call(win, function()
          if vim.fn.bufnr("#") > 0 then
            vim.cmd("silent! buffer #")
          else
            vim.cmd.enew()
          end
        end)
      end
      chat:open()
      if chat.conversation_id ~= conversation_id then
        chat:show(conversation_id)
      end
    end),
  })
  return buf
end

---@param chat palimpsest.Chat
function M.conversations(chat)
  client.request(chat.root, methods.ConversationListRequest, { folder = chat.folder }, function(err, result)
    if err then
      return tell.failed(err)
    end
    fill(
      texts.conversations.prompt,
      vim.tbl_map(function(info)
        return {
          bufnr = door(chat, info.conversationId),
          text = ("%s (%s, %s)"):format(
            text.one_line(info.title ~= "" and info.title or texts.conversations.untitled),
            text.counted(info.messageCount, "message"),
            text.local_time(info.updatedAt)
          ),
        }
      end, result.conversations)
    )
  end)
end

---@param chat palimpsest.Chat
---@param query string
function M.search(chat, query)
  local params = { query = query, folderUri = chat.folder }
  client.request(chat.root, methods.ConversationSearchRequest, params, function(err, result)
    if err then
      return tell.failed(err)
    end
    fill(
      texts.conversations.found:format(text.one_line(query)),
      vim.tbl_map(function(hit)
        return {
          bufnr = door(chat, hit.conversationId, hit.messageId),
          text = ("%s #%d: %s"):format(text.one_line(hit.title), hit.messageId, text.one_line(hit.snippet)),
        }
      end, result.hits)
    )
  end)
end

---@param fact palimpsest.FactInfo
local function fact_items(fact)
  local said = text.one_line(fact.content .. (fact.author and texts.facts.author:format(fact.author) or ""))
  local mark = fact.isStale and texts.facts.stale or ""
  local items = {}
  for _, source in ipairs(fact.sources or {}) do
    table.insert(items, {
      filename = vim.uri_to_fname(source.uri),
      lnum = (source.startLine or 0) + 1, -- The protocol counts lines from 0.
      end_lnum = source.endLine and source.endLine + 1,
      type = fact.isStale and "W" or "I",
      text = mark .. said,
    })
  end
  return #items > 0 and items or { { text = mark .. said, type = fact.isStale and "W" or "I" } }
end

---@param chat palimpsest.Chat
---@param query string Empty for all.
function M.facts(chat, query)
  local is_search = query ~= ""
  local method = is_search and methods.FactsSearchRequest or methods.FactsListRequest
  local params = { folderUri = chat.folder, limit = is_search and MAX_FOUND or MAX_LISTED }
  params.query = is_search and query or nil
  client.request(chat.root, method, params, function(err, result)
    if err and err.code == METHOD_NOT_FOUND then
      tell.warn(texts.nothing.facts)
    elseif err then
      tell.failed(err)
    else
      local items = {}
      for _, fact in ipairs(result.facts) do
        vim.list_extend(items, fact_items(fact))
      end
      fill(query == "" and texts.facts.title or texts.facts.about:format(text.one_line(query)), items)
    end
  end)
end

return M
