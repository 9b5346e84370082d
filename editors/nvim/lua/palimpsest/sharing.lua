--- Sharing conversations through a hub: what it would mean, who reads, who writes, and going on in a fork.
local client = require("palimpsest.client")
local complain = require("palimpsest.complain")
local methods = require("palimpsest.protocol").methods
local text = require("palimpsest.text")

local M = {}

local STATES = {
  current = "shared",
  behind = "shared, behind",
  apart = "shared, not sent yet",
  detached = "no longer shared",
}
local MOST_IDS = 8

---@param writer palimpsest.WriterInfo
---@return string
local function writing(writer)
  local who = writer.isSelf and "You, on another machine, are" or text.one_line(writer.name) .. " is"
  return who .. " " .. text.one_line(writer.work)
end

--- Who writes the shown conversation on another machine.
---@param chat palimpsest.Chat
---@return palimpsest.WriterInfo|nil
function M.writer(chat)
  return chat.info and chat.info.shared and chat.info.shared.writer
end

--- What is wrong with the way to the hub; empty when nothing is.
---@param hub palimpsest.HubStatus|nil
---@return string
local function hub_status(hub)
  if not hub or (hub.state ~= "away" and hub.state ~= "refused" and hub.state ~= "newerNeeded") then
    return ""
  end
  local said = hub.state == "away" and "the hub is away" or text.one_line(hub.problem or "the hub says no")
  return hub.unsent > 0 and ("%s, %d not sent"):format(said, hub.unsent) or said
end

--- The mark of a conversation, for a bar or a list; empty for one that was never shared.
---@param info palimpsest.ConversationInfo|nil
---@param hub? palimpsest.HubStatus The way to the hub, of which the mark says what is wrong.
---@return string
function M.mark(info, hub)
  local shared = info and info.shared
  if not shared then
    return ""
  end
  local team = shared.team and shared.state ~= "detached" and " with " .. text.one_line(shared.team) or ""
  local writer = shared.writer and " · " .. writing(shared.writer) or ""
  local problem = hub_status(hub)
  return STATES[shared.state] .. team .. writer .. (problem ~= "" and " · " .. problem or "")
end

---@param bytes integer
local function kilobytes(bytes)
  return ("%d kB"):format(math.max(1, math.floor(bytes / 1000 + 0.5)))
end

---@param ids integer[]
local function in_messages(ids)
  local named = table.concat(vim.list_slice(ids, 1, MOST_IDS), ", ")
  local more = #ids > MOST_IDS and (" and %d more"):format(#ids - MOST_IDS) or ""
  return ("%s %s%s"):format(#ids == 1 and "message" or "messages", named, more)
end

---@param plan palimpsest.ShareResult
---@return string markdown
local function plan_text(plan)
  local readers = vim.tbl_map(function(each)
    return ("%s (%s)"):format(text.one_line(each.name), each.isSelf and "you" or each.role)
  end, plan.readers)
  local results = ""
  if plan.resultByteCount > 0 then
    results = plan.sharesToolResults and (", of which %s are results of tools"):format(kilobytes(plan.resultByteCount))
      or "; the results of tools stay here"
  end
  local lines = {
    ("Sharing with the team %s:"):format(text.one_line(plan.team)),
    "",
    ("- %s will read it, and what is said later."):format(table.concat(readers, ", ")),
    ("- %s, %s%s."):format(text.counted(plan.messageCount, "message"), kilobytes(plan.byteCount), results),
  }
  for _, each in ipairs(plan.removals) do
    local kind = text.one_line(each.kind)
    table.insert(lines, ("- Taken out first: %s in %s."):format(kind, in_messages(each.messageIds)))
  end
  if #plan.files > 0 then
    table.insert(lines, ("- Results of tools may hold text of: %s."):format(table.concat(plan.files, ", ")))
  end
  if plan.isCopy then
    table.insert(lines, "- A copy is shared. This conversation stays as it is, and yours alone.")
  end
  return table.concat(lines, "\n")
end

--- Says what sharing would mean, and shares when the user agrees.
---@param chat palimpsest.Chat
function M.share(chat)
  local id, folder = chat.conversation_id, chat.root
  local function ask(confirm, done)
    local params = { conversationId = id, confirm = confirm }
    client.request(folder, methods.ConversationShareRequest, params, function(err, result)
      if err then
        complain(err)
      else
        done(result)
      end
    end)
  end
  ask(false, function(plan)
    chat:open()
    chat:note(plan_text(plan))
    local yes = plan.isCopy and "Share a copy" or "Share"
    local question = { prompt = "Share this conversation?", kind = "palimpsest_share" }
    vim.ui.select({ yes, "Cancel" }, question, function(answer)
      if answer ~= yes then
        return
      end
      ask(true, function(done)
        local shared = done.conversation
        if shared and shared.conversationId ~= id then
          chat:show(shared.conversationId)
        else
          chat:reload()
        end
        chat:note(("Shared with the team %s."):format(text.one_line(done.team)))
      end)
    end)
  end)
end

--- Takes the conversation out of the hub, when the user agrees.
---@param chat palimpsest.Chat
function M.unshare(chat)
  local question = { prompt = "Others keep what they have taken in. Stop sharing?", kind = "palimpsest_unshare" }
  vim.ui.select({ "Stop sharing", "Cancel" }, question, function(answer)
    if answer ~= "Stop sharing" then
      return
    end
    local params = { conversationId = chat.conversation_id }
    client.request(chat.root, methods.ConversationUnshareRequest, params, function(err)
      if err then
        return complain(err)
      end
      chat:reload()
      chat:note("This conversation is shared no longer.")
    end)
  end)
end

--- The conversations that the team shares, to open one.
---@param chat palimpsest.Chat
function M.pick(chat)
  client.request(chat.root, methods.ConversationListSharedRequest, { folder = chat.folder }, function(err, result)
    if err then
      return complain(err)
    elseif #result.conversations == 0 then
      vim.notify(("Palimpsest: the team %s shares no conversation yet."):format(text.one_line(result.team)))
      return
    end
    vim.ui.select(result.conversations, {
      prompt = "Shared with " .. text.one_line(result.team),
      kind = "palimpsest_shared",
      format_item = function(each)
        local title = text.shorten(text.one_line(each.title ~= "" and each.title or "untitled"), 60)
        local count = text.counted(each.messageCount, "message")
        local writer = each.writer and " · " .. writing(each.writer) or ""
        local here = each.isHere and " · here" or ""
        return ("%s  %s, %s%s%s"):format(title, text.one_line(each.owner), count, here, writer)
      end,
    }, function(each)
      if not each then
        return
      end
      local params = { conversationId = each.conversationId, folder = chat.folder }
      client.request(chat.root, methods.ConversationOpenSharedRequest, params, function(problem, info)
        if problem then
          return complain(problem)
        end
        chat:open()
        chat:show(info.conversationId)
      end)
    end)
  end)
end

--- Who reads the conversation, and how far each of their machines has come, also with a purge.
---@param chat palimpsest.Chat
function M.readers(chat)
  local params = { conversationId = chat.conversation_id }
  client.request(chat.root, methods.ConversationMembersRequest, params, function(err, result)
    if err then
      return complain(err)
    end
    local lines = { "Who reads this conversation:", "" }
    for _, each in ipairs(result.members) do
      table.insert(lines, ("- %s: %s"):format(text.one_line(each.name), (each.isSelf and "you, " or "") .. each.role))
    end
    vim.list_extend(lines, { "", "Where it is:", "" })
    for _, each in ipairs(result.stores) do
      local where = each.isThis and "this machine" or "a machine of " .. text.one_line(each.member)
      local behind = result.headSeq - each.appliedSeq
      local state = behind <= 0 and "has everything"
        or ("lacks the newest %s"):format(behind == 1 and "entry" or behind .. " entries")
    local looks = each.isFollowing and not each.isThis and ", looks at it now" or ""
    table.insert(lines, ("- %s %s%s"):format(where, state, looks))
    end
    chat:open()
    chat:note(table.concat(lines, "\n"))
  end)
end

--- Offers to send in a fork what stands in the input, because somebody else writes here or the hub is away.
---@param chat palimpsest.Chat
function M.offer_fork(chat)
  local at, writer = chat.conversation_id, M.writer(chat)
  local prompt = writer and writing(writer) .. ". Go on with this message?" or "Go on with this message?"
  local options = { prompt = prompt, kind = "palimpsest_fork_and_go_on" }
  vim.ui.select({ "Go on in a fork", "Not now" }, options, function(answer)
    local is_typed = chat.input and chat.input:is_valid() and vim.trim(chat.input:text()) ~= ""
    if answer ~= "Go on in a fork" or chat.conversation_id ~= at or not is_typed then
      return
    end
    client.request(chat.root, methods.ConversationForkRequest, { conversationId = at }, function(err, info)
      if err then
        return complain(err)
      end
      local message, attachments = chat.input:take()
      chat:show(info.conversationId)
      chat:say(message, attachments)
    end)
  end)
end

---@param params palimpsest.MovedApartParams
function M.tell_moved(params)
  local said = "Palimpsest: others wrote “%s” while the hub was away. "
    .. "Your messages from then on are in “%s” (:Palimpsest pick)."
  vim.notify(said:format(text.one_line(params.title), text.one_line(params.forkTitle)), vim.log.levels.WARN)
end

return M
