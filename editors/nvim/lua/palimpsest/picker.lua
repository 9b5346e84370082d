--- Lists to choose from, by `vim.ui.select`.
local client = require("palimpsest.client")
local complain = require("palimpsest.complain")
local methods = require("palimpsest.protocol").methods
local sharing = require("palimpsest.sharing")
local text = require("palimpsest.text")

local M = {}

---@param info palimpsest.ConversationInfo
local function conversation_line(info)
  local title = text.shorten(text.one_line(info.title ~= "" and info.title or "untitled"), 60)
  local marks = (info.runningTurnId and " · answering" or "")
    .. (info.draft ~= "" and " · draft" or "")
    .. (info.isArchived and " · archived" or "")
    .. (info.shared and " · " .. sharing.mark(info) or "")
  local count = text.counted(info.messageCount, "message")
  return ("%s  %s, %s%s"):format(title, text.local_time(info.updatedAt), count, marks)
end

---@param chat palimpsest.Chat
function M.conversations(chat)
  client.request(chat.root, methods.ConversationListRequest, { folder = chat.folder }, function(err, result)
    if err then
      return complain(err)
    elseif #result.conversations == 0 then
      vim.notify("Palimpsest: there is no conversation in this folder yet.")
      return
    end
    vim.ui.select(result.conversations, {
      prompt = "Conversations",
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

---@param chat palimpsest.Chat
---@param done fun(name: string)
function M.models(chat, done)
  client.request(chat.root, methods.ModelListRequest, {}, function(err, result)
    if err then
      return complain(err)
    end
    vim.ui.select(result.models, {
      prompt = "Models",
      kind = "palimpsest_model",
      format_item = function(model)
        local hint = model.isAvailable and "" or " — " .. text.one_line(model.hint or "not available")
        return ("%s (%s, %d tokens)%s"):format(text.one_line(model.name), model.provider, model.windowTokens, hint)
      end,
    }, function(model)
      if model then
        done(model.name)
      end
    end)
  end)
end

local ACTIONS = {
  { "continue", "Continue: go on from where it stopped" },
  { "keep", "Keep: leave it as it is" },
  { "discard", "Discard: hide it; it can still be read" },
  { "retry", "Retry: hide it and answer the same message again" },
}

---@param broken palimpsest.BrokenAnswer
local function broken_line(broken)
  local last = text.shorten(text.one_line(broken.text:sub(-120)), 50)
  local title = text.shorten(text.one_line(broken.title ~= "" and broken.title or "untitled"), 40)
  return ("%s  %s, %d characters: …%s"):format(title, text.local_time(broken.endedAt), broken.textLength, last)
end

--- Answers that broke off, and what to do about one.
---@param chat palimpsest.Chat
function M.recovery(chat)
  client.request(chat.root, methods.RecoveryListRequest, { folderUri = chat.folder }, function(err, result)
    if err then
      return complain(err)
    elseif #result.turns == 0 then
      vim.notify("Palimpsest: no answer has broken off.")
      return
    end
    vim.ui.select(result.turns, {
      prompt = "Answers that broke off",
      kind = "palimpsest_recovery",
      format_item = broken_line,
    }, function(broken)
      if not broken then
        return
      end
      vim.ui.select(ACTIONS, {
        prompt = "Resolve the answer",
        kind = "palimpsest_recovery_action",
        format_item = function(action)
          return action[2]
        end,
      }, function(action)
        if action then
          chat:open()
          if chat.conversation_id ~= broken.conversationId then
            chat:show(broken.conversationId)
          end
          chat:resolve(broken.turnId, action[1])
        end
      end)
    end)
  end)
end

local ANSWERS = { always = "always runs", never = "never runs" }

--- Kept answers to the questions of tools; the chosen one is withdrawn.
---@param chat palimpsest.Chat
function M.approvals(chat)
  client.request(chat.root, methods.ApprovalListRequest, { folder = chat.folder }, function(err, result)
    if err then
      return complain(err)
    elseif #result.rules == 0 then
      vim.notify("Palimpsest: no answer about a tool is kept in this folder.")
      return
    end
    vim.ui.select(result.rules, {
      prompt = "Withdraw",
      kind = "palimpsest_approval_rule",
      format_item = function(rule)
        return ("%s %s"):format(text.one_line(rule.covers), ANSWERS[rule.answer] or rule.answer)
      end,
    }, function(rule)
      if rule then
        local params = { id = rule.id, folder = chat.folder }
        client.request(chat.root, methods.ApprovalRevokeRequest, params, function(problem)
          if problem then
            complain(problem)
          else
            vim.notify("Palimpsest: withdrawn; you will be asked again.")
          end
        end)
      end
    end)
  end)
end

return M
