--- Decisions: a tool wants to do something, and the user says yes or no. The server knows what may be asked and what an
--- answer covers. The question is shown in a window that never takes the cursor by itself, so that nobody answers by
--- typing on.
local tell = require("palimpsest.tell")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts").decision
local keys = require("palimpsest.texts").keys

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("palimpsest_decision")
local MAX_WIDTH = 100
local DIFF_GROUPS = { ["+"] = "PalimpsestAdded", ["-"] = "PalimpsestRemoved", ["@"] = "PalimpsestHunk" }

local EDIT = "propose_edit"

---@type string|nil The turn whose edits are all accepted. They come one after the other, and can be taken back.
local accepted_turn

---@class palimpsest.Question
---@field client_id integer Who asks.
---@field params palimpsest.ApprovalRequestParams
---@field answer fun(answer: palimpsest.ApprovalAnswer)
---@field win? integer

---@type palimpsest.Question[] The first is before the user.
local questions = {}

---@return boolean
function M.is_waiting()
  return #questions > 0
end

local function redraw_bar()
  local chat = require("palimpsest.chat").current()
  if chat then
    chat:_draw_bar()
  end
end

---@param question palimpsest.Question
---@return boolean
local function is_shown(question)
  local win = question.win
  return win ~= nil
    and vim.api.nvim_win_is_valid(win)
    and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
end

---@param question palimpsest.Question
local function hide(question)
  if question.win and vim.api.nvim_win_is_valid(question.win) then
    vim.api.nvim_win_close(question.win, true)
  end
  question.win = nil
end

local show

---@param question palimpsest.Question
---@param answer palimpsest.ApprovalAnswer
local function settle(question, answer)
  hide(question)
  if questions[1] ~= question then
    return
  end
  table.remove(questions, 1)
  question.answer(answer)
  if questions[1] then
    show(questions[1])
  end
  redraw_bar()
end

---@param params palimpsest.ApprovalRequestParams
---@return { key: string, answer: palimpsest.ApprovalAnswer|nil, is_for_turn?: boolean, label: string }[]
local function choices(params)
  local covers = text.one_line(params.covers)
  local yes, no = unpack(texts.words[params.tool] or texts.words.other)
  local list = { { key = "y", answer = "once", label = yes }, { key = "n", answer = "deny", label = no } }
  if params.tool == EDIT then
    table.insert(list, { key = "Y", answer = "once", is_for_turn = true, label = texts.all_edits })
  end
  if params.mayBeAlways then
    table.insert(list, { key = "a", answer = "always", label = texts.always:format(covers) })
  end
  table.insert(list, { key = "N", answer = "never", label = texts.never:format(covers) })
  table.insert(list, { key = "q", label = texts.leave })
  return list
end

---@param buf integer
---@param lines string[]
local function color(buf, lines)
  local is_diff = vim.iter(lines):any(function(line)
    return vim.startswith(line, "@@ ")
  end)
  for n, line in ipairs(is_diff and lines or {}) do
    local group = DIFF_GROUPS[line:sub(1, 1)]
    if group then
      vim.api.nvim_buf_set_extmark(buf, NAMESPACE, n - 1, 0, { line_hl_group = group })
    end
  end
end

--- What would happen, whole and as plain text: no file type, so nothing in it is interpreted. Below it the keys.
---@param question palimpsest.Question
---@return integer buf
---@return string[] lines
local function fill(question)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "wipe", false
  local lines = vim.split(text.sanitise(question.params.shown), "\n", { plain = true })
  local n_shown = #lines
  table.insert(lines, "")
  for _, choice in ipairs(choices(question.params)) do
    table.insert(lines, ("%s  %s"):format(choice.key, choice.label))
    vim.keymap.set("n", choice.key, function()
      if choice.answer then
        if choice.is_for_turn then
          accepted_turn = question.params.turnId
        end
        settle(question, choice.answer)
      else
        vim.cmd.wincmd("p")
      end
    end, { buffer = buf, nowait = true, desc = keys.prefix .. choice.label })
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  color(buf, vim.list_slice(lines, 1, n_shown))
  for n = n_shown + 1, #lines - 1 do
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, n, 0, { line_hl_group = "PalimpsestAbout" })
  end
  return buf, lines
end

---@param question palimpsest.Question
show = function(question)
  hide(question)
  require("palimpsest.highlights").define()
  local buf, lines = fill(question)
  local title = text.one_line(question.params.title)
  local width = vim.fn.strdisplaywidth(title) + 4
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  width = math.min(width, vim.o.columns - 4, MAX_WIDTH)
  title = text.shorten(title, width - 4)
  question.win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = math.max(1, math.min(#lines, math.floor(vim.o.lines * 0.6))),
    style = "minimal",
    border = "rounded",
    title = { { " " .. title .. " ", "PalimpsestTitle" } },
    footer = { { #questions > 1 and texts.one_of:format(#questions) or texts.go, "PalimpsestAbout" } },
  })
  vim.wo[question.win].wrap = true
  redraw_bar()
end

--- Puts the cursor into the question that waits.
function M.go()
  local question = questions[1]
  if not question then
    tell.info(texts.none)
    return
  end
  if not is_shown(question) then
    show(question)
  end
  vim.cmd.stopinsert()
  vim.api.nvim_set_current_win(assert(question.win))
end

--- Runs in a coroutine of its own and comes back with the user's word.
---@param params palimpsest.ApprovalRequestParams
---@param client_id integer
---@return palimpsest.ApprovalRequestResult
function M.ask(params, client_id)
  if params.tool == EDIT and params.turnId == accepted_turn then
    return { answer = "once" }
  end
  local waiting = assert(coroutine.running())
  local question = {
    client_id = client_id,
    params = params,
    answer = function(answer)
      vim.schedule(function()
        coroutine.resume(waiting, { answer = answer })
      end)
    end,
  }
  table.insert(questions, question)
  vim.schedule(function()
    if questions[1] == question and not question.win then
      show(question)
      tell.info(texts.asks:format(text.one_line(params.title)))
    end
  end)
  return coroutine.yield()
end

--- The server has ended, and its questions with it.
---@param client_id integer
function M.gone(client_id)
  local n_before = #questions
  for n = n_before, 1, -1 do
    if questions[n].client_id == client_id then
      hide(questions[n])
      table.remove(questions, n)
    end
  end
  if #questions < n_before then
    tell.warn(texts.gone)
    if questions[1] and not questions[1].win then
      show(questions[1])
    end
    redraw_bar()
  end
end

--- The server withdrew a request. Neovim does not say which: with one question open it can only be that one, and an
--- answer to a withdrawn question does nothing.
function M.cancelled()
  if #questions == 1 then
    vim.schedule(function()
      if #questions == 1 then
        tell.info(texts.elsewhere)
        settle(questions[1], "deny")
      end
    end)
  end
end

return M
