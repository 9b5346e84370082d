--- Sharing conversations through a hub: what it would mean, who reads, who writes, and going on in a fork.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local text = require("palimpsest.text")
local texts = require("palimpsest.texts").sharing
local untitled = require("palimpsest.texts").conversations.untitled

local M = {}

local MOST_IDS = 8

---@param writer palimpsest.WriterInfo
---@return string
local function writing(writer)
  local name, work = text.one_line(writer.name), text.one_line(writer.work)
  return writer.isSelf and texts.you_write:format(work) or texts.writes:format(name, work)
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
  local said = hub.state == "away" and texts.away or text.one_line(hub.problem or texts.refused)
  return hub.unsent > 0 and texts.unsent:format(said, hub.unsent) or said
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
  local team = shared.team and shared.state ~= "detached" and texts.with .. text.one_line(shared.team) or ""
  local writer = shared.writer and writing(shared.writer) .. " · " or ""
  local problem = hub_status(hub)
  -- What is going on comes first: a narrow window cuts the end.
  return writer .. (problem ~= "" and problem .. " · " or "") .. texts.states[shared.state] .. team
end

---@param bytes integer
local function kilobytes(bytes)
  return ("%d kB"):format(math.max(1, math.floor(bytes / 1000 + 0.5)))
end

---@param ids integer[]
local function in_messages(ids)
  local named = table.concat(vim.list_slice(ids, 1, MOST_IDS), ", ")
  local words = texts.messages
  local said = (#ids == 1 and words.one or words.many):format(named)
  return #ids > MOST_IDS and words.more:format(said, #ids - MOST_IDS) or said
end

---@param plan palimpsest.ShareResult
---@return string markdown
local function plan_text(plan)
  local words = texts.plan
  local readers = vim.tbl_map(function(each)
    return ("%s (%s)"):format(text.one_line(each.name), each.isSelf and texts.you or each.role)
  end, plan.readers)
  local results = ""
  if plan.resultByteCount > 0 then
    results = plan.sharesToolResults and words.results:format(kilobytes(plan.resultByteCount)) or words.no_results
  end
  local lines = {
    words.title:format(text.one_line(plan.team)),
    "",
    words.readers:format(table.concat(readers, ", ")),
    words.size:format(text.counted(plan.messageCount, "message"), kilobytes(plan.byteCount), results),
  }
  for _, each in ipairs(plan.removals) do
    local kind = text.one_line(each.kind)
    table.insert(lines, words.removed:format(kind, in_messages(each.messageIds)))
  end
  if #plan.files > 0 then
    table.insert(lines, words.files:format(table.concat(plan.files, ", ")))
  end
  if plan.isCopy then
    table.insert(lines, words.copy)
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
        tell.failed(err)
      else
        done(result)
      end
    end)
  end
  ask(false, function(plan)
    chat:open()
    chat:note(plan_text(plan))
    local yes = plan.isCopy and texts.share_copy or texts.share
    local question = { prompt = texts.question, kind = "palimpsest_share" }
    vim.ui.select({ yes, texts.cancel }, question, function(answer)
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
        chat:note(texts.shared:format(text.one_line(done.team)))
      end)
    end)
  end)
end

--- Takes the conversation out of the hub, when the user agrees.
---@param chat palimpsest.Chat
function M.unshare(chat)
  local question = { prompt = texts.stop_question, kind = "palimpsest_unshare" }
  vim.ui.select({ texts.stop, texts.cancel }, question, function(answer)
    if answer ~= texts.stop then
      return
    end
    local params = { conversationId = chat.conversation_id }
    client.request(chat.root, methods.ConversationUnshareRequest, params, function(err)
      if err then
        return tell.failed(err)
      end
      chat:reload()
      chat:note(texts.stopped)
    end)
  end)
end

--- The conversations that the team shares, to open one.
---@param chat palimpsest.Chat
function M.pick(chat)
  client.request(chat.root, methods.ConversationListSharedRequest, { folder = chat.folder }, function(err, result)
    if err then
      return tell.failed(err)
    elseif #result.conversations == 0 then
      tell.info(texts.none:format(text.one_line(result.team)))
      return
    end
    vim.ui.select(result.conversations, {
      prompt = texts.pick:format(text.one_line(result.team)),
      kind = "palimpsest_shared",
      format_item = function(each)
        local title = text.shorten(text.one_line(each.title ~= "" and each.title or untitled), 60)
        local count = text.counted(each.messageCount, "message")
        local writer = each.writer and " · " .. writing(each.writer) or ""
        local here = each.isHere and texts.here or ""
        return ("%s  %s, %s%s%s"):format(title, text.one_line(each.owner), count, here, writer)
      end,
    }, function(each)
      if not each then
        return
      end
      local params = { conversationId = each.conversationId, folder = chat.folder }
      client.request(chat.root, methods.ConversationOpenSharedRequest, params, function(problem, info)
        if problem then
          return tell.failed(problem)
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
      return tell.failed(err)
    end
    local lines = { texts.readers, "" }
    for _, each in ipairs(result.members) do
      table.insert(
        lines,
        ("- %s: %s"):format(text.one_line(each.name), (each.isSelf and texts.you .. ", " or "") .. each.role)
      )
    end
    vim.list_extend(lines, { "", texts.machines, "" })
    for _, each in ipairs(result.stores) do
      local where = each.isThis and texts.this_machine or texts.machine:format(text.one_line(each.member))
      local behind = result.headSeq - each.appliedSeq
      local state = behind <= 0 and texts.has_all or texts.lacks:format(behind == 1 and "entry" or behind .. " entries")
      local looks = each.isFollowing and not each.isThis and texts.looks or ""
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
  local prompt = writer and writing(writer) .. ". " .. texts.go_on or texts.go_on
  local options = { prompt = prompt, kind = "palimpsest_fork_and_go_on" }
  vim.ui.select({ texts.fork, texts.not_now }, options, function(answer)
    local is_typed = chat.input and chat.input:is_valid() and vim.trim(chat.input:text()) ~= ""
    if answer ~= texts.fork or chat.conversation_id ~= at or not is_typed then
      return
    end
    client.request(chat.root, methods.ConversationForkRequest, { conversationId = at }, function(err, info)
      if err then
        return tell.failed(err)
      end
      local message, attachments = chat.input:take()
      chat:show(info.conversationId)
      chat:say(message, attachments)
    end)
  end)
end

---@param params palimpsest.MovedApartParams
function M.tell_moved(params)
  tell.warn(texts.moved:format(text.one_line(params.title), text.one_line(params.forkTitle)))
end

return M
