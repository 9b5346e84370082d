--- Lists to choose from, by `vim.ui.select`.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local sharing = require("palimpsest.sharing")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")

local M = {}

--- The group of a conversation in a list by day.
---@param stamp string A time of the protocol.
---@param now integer
---@return string
function M.day(stamp, now)
  local words = texts.conversations
  local at = text.local_time(stamp)
  local function is_on(seconds)
    return vim.startswith(at, os.date("%Y-%m-%d", seconds) --[[@as string]])
  end
  if is_on(now) then
    return words.today
  elseif is_on(now - 86400) then
    return words.yesterday
  elseif at:sub(1, 10) >= os.date("%Y-%m-%d", now - 7 * 86400) then
    return words.last_week
  end
  return at:sub(1, 7)
end

---@param info palimpsest.ConversationInfo
local function conversation_line(info)
  local words = texts.conversations
  local title = text.one_line(info.title ~= "" and info.title or words.untitled)
  local marks = (info.runningTurnId and words.answering or "")
    .. (info.draft ~= "" and words.draft:format(text.shorten(text.one_line(info.draft), 30)) or "")
    .. (info.isArchived and words.archived or "")
    .. (info.shared and " · " .. sharing.mark(info) or "")
  local count = text.counted(info.messageCount, "message")
  local day, at = M.day(info.updatedAt, os.time()), text.local_time(info.updatedAt)
  local is_near = day == words.today or day == words.yesterday
  return ("%-9s  %s  %s · %s%s"):format(day, is_near and at:sub(12) or at:sub(6, 10), title, count, marks)
end

---@param chat palimpsest.Chat
function M.conversations(chat)
  client.request(chat.root, methods.ConversationListRequest, { folder = chat.folder }, function(err, result)
    if err then
      return tell.failed(err)
    elseif #result.conversations == 0 then
      tell.info(texts.conversations.none)
      return
    end
    vim.ui.select(result.conversations, {
      prompt = texts.conversations.prompt,
      kind = "palimpsest_conversation",
      format_item = conversation_line,
    }, function(info)
      if info then
        chat:open()
        chat:show(info.conversationId)
      end
    end)
  end)
end

--- Those that can be used come first, each group as the server orders it.
---@param models palimpsest.ModelInfo[]
local function by_use(models)
  local ready, others = {}, {}
  for _, model in ipairs(models) do
    table.insert(model.isAvailable and ready or others, model)
  end
  return vim.list_extend(ready, others)
end

---@param tokens integer
local function thousands(tokens)
  return tokens < 1000 and tostring(tokens) or ("%dk"):format(math.floor(tokens / 1000))
end

---@param model palimpsest.ModelInfo
---@param current string|nil
local function model_line(model, current)
  local name, provider = text.one_line(model.name), text.one_line(model.provider)
  local words = texts.models
  local function in_group(group, line)
    return ("%-12s  %s%s"):format(group, line, model.name == current and words.current or "")
  end
  if not model.isAvailable then
    return in_group(words.key_group, words.needs_key:format(name, provider))
  elseif model.provider == "offline" then
    return in_group(words.ready_group, words.offline)
  end
  return in_group(words.ready_group, words.ready:format(name, provider, thousands(model.budgetTokens)))
end

--- Choosing one that needs a key goes to the key.
---@param chat palimpsest.Chat
---@param done fun(name: string)
function M.models(chat, done)
  client.request(chat.root, methods.ModelListRequest, {}, function(err, result)
    if err then
      return tell.failed(err)
    end
    vim.ui.select(by_use(result.models), {
      prompt = texts.models.prompt,
      kind = "palimpsest_model",
      format_item = function(model)
        return model_line(model, chat.usage and chat.usage.model)
      end,
    }, function(model)
      if model and not model.isAvailable then
        require("palimpsest.key").set(chat.root, model.provider, function()
          done(model.name)
        end)
      elseif model then
        done(model.name)
      end
    end)
  end)
end

local ACTIONS = { "continue", "keep", "discard", "retry" }

---@param broken palimpsest.BrokenAnswer
local function broken_line(broken)
  local last = text.shorten(text.one_line(broken.text:sub(-120)), 50)
  local title = text.shorten(text.one_line(broken.title ~= "" and broken.title or texts.conversations.untitled), 40)
  local length = text.counted(broken.textLength, "character")
  return texts.broken.line:format(title, text.local_time(broken.endedAt), length, last)
end

--- Answers that broke off, and what to do about one.
---@param chat palimpsest.Chat
function M.recovery(chat)
  client.request(chat.root, methods.RecoveryListRequest, { folderUri = chat.folder }, function(err, result)
    if err then
      return tell.failed(err)
    elseif #result.turns == 0 then
      tell.info(texts.nothing.broken)
      return
    end
    vim.ui.select(result.turns, {
      prompt = texts.broken.prompt,
      kind = "palimpsest_recovery",
      format_item = broken_line,
    }, function(broken)
      if not broken then
        return
      end
      vim.ui.select(ACTIONS, {
        prompt = texts.broken.action,
        kind = "palimpsest_recovery_action",
        format_item = function(action)
          return texts.broken.actions[action]
        end,
      }, function(action)
        if action then
          chat:open()
          if chat.conversation_id ~= broken.conversationId then
            chat:show(broken.conversationId)
          end
          chat:resolve(broken.turnId, action)
        end
      end)
    end)
  end)
end

--- Kept answers to the questions of tools; the chosen one is withdrawn.
---@param chat palimpsest.Chat
function M.approvals(chat)
  client.request(chat.root, methods.ApprovalListRequest, { folder = chat.folder }, function(err, result)
    if err then
      return tell.failed(err)
    elseif #result.rules == 0 then
      tell.info(texts.decision.none_kept)
      return
    end
    vim.ui.select(result.rules, {
      prompt = texts.decision.kept.prompt,
      kind = "palimpsest_approval_rule",
      format_item = function(rule)
        return ("%s · %s"):format(text.one_line(rule.covers), texts.decision.kept[rule.answer] or rule.answer)
      end,
    }, function(rule)
      if rule then
        local params = { id = rule.id, folder = chat.folder }
        client.request(chat.root, methods.ApprovalRevokeRequest, params, function(problem)
          if problem then
            tell.failed(problem)
          else
            tell.info(texts.decision.withdrawn)
          end
        end)
      end
    end)
  end)
end

return M
