--- Asks the user whether a tool may do something. The server knows what may be asked and what an answer covers.
local text = require("palimpsest.text")

local M = {}

---@class palimpsest.Question
---@field params palimpsest.ApprovalRequestParams
---@field answer fun(answer: palimpsest.ApprovalAnswer)
---@field is_over? boolean
---@field win? integer

---@type palimpsest.Question[] The first is before the user.
local questions = {}

---@param params palimpsest.ApprovalRequestParams
local function choices(params)
  local list = { { "once", "Yes, this time" } }
  if params.mayBeAlways then
    table.insert(list, { "always", "Yes, and always: " .. text.one_line(params.covers) })
  end
  table.insert(list, { "deny", "No, not this time" })
  table.insert(list, { "never", "No, and never: " .. text.one_line(params.covers) })
  return list
end

--- As plain text: no file type, so nothing in it is interpreted.
---@param params palimpsest.ApprovalRequestParams
---@return integer win
local function show(params)
  local lines = vim.split(text.sanitise(params.shown), "\n", { plain = true })
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].modeline = false
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local width = math.min(vim.o.columns - 4, 100)
  local height = math.max(1, math.min(#lines, math.floor(vim.o.lines * 0.6)))
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    style = "minimal",
    border = "rounded",
    title = " " .. text.shorten(text.one_line(params.title), width - 4) .. " ",
  })
  vim.wo[win].wrap = true
  return win
end

local function hide(question)
  if question.win and vim.api.nvim_win_is_valid(question.win) then
    vim.api.nvim_win_close(question.win, true)
  end
  question.win = nil
end

local ask_next

local function settle(question, answer)
  hide(question)
  if question.is_over then
    return
  end
  question.is_over = true
  question.answer(answer)
  if questions[1] == question then
    table.remove(questions, 1)
    vim.schedule(ask_next)
  end
end

ask_next = function()
  local question = questions[1]
  if not question or question.win then
    return
  end
  question.win = show(question.params)
  vim.cmd.redraw()
  vim.ui.select(choices(question.params), {
    prompt = text.one_line(question.params.title),
    kind = "palimpsest_approval",
    format_item = function(choice)
      return choice[2]
    end,
  }, function(choice)
    if question.is_over then
      hide(question)
      vim.notify("Palimpsest: the question was answered elsewhere.")
      return
    end
    settle(question, choice and choice[1] or "deny")
  end)
end

--- Runs in a coroutine of its own and comes back with the user's word.
---@param params palimpsest.ApprovalRequestParams
---@return palimpsest.ApprovalRequestResult
function M.ask(params)
  local waiting = assert(coroutine.running())
  table.insert(questions, {
    params = params,
    answer = function(answer)
      vim.schedule(function()
        coroutine.resume(waiting, { answer = answer })
      end)
    end,
  })
  vim.schedule(function()
    if #questions == 1 then
      ask_next()
    end
  end)
  return coroutine.yield()
end

--- The server withdrew a request. Neovim does not say which: with one question open it can only be that one, and an
--- answer to a withdrawn question does nothing.
function M.cancelled()
  if #questions == 1 then
    settle(questions[1], "deny")
  end
end

return M
