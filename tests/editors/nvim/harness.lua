-- What the files of checks share. `vim.wait` runs Neovim's loop until something holds, or fails after a time.
local M = {}

local WAIT_MS = tonumber(vim.env.TEST_PALIMPSEST_WAIT_MS) or 60000
local n_passed = 0

local n_ordered, n_carried_out = 0, 0
local stdin = assert(vim.uv.new_pipe(false))
stdin:open(0)
stdin:read_start(function(_, data)
  n_carried_out = n_carried_out + select(2, (data or ""):gsub("\n", ""))
end)

local function say(line)
  io.stderr:write(line .. "\n")
end

--- The first rule that does not hold ends the file: those behind it build on it.
---@param rule string
---@param check fun()
function M.it(rule, check)
  local began = vim.uv.hrtime()
  local ok, problem = xpcall(check, debug.traceback)
  if not ok then
    say("FAIL - " .. rule .. "\n" .. problem)
    vim.cmd("cquit 1")
  end
  n_passed = n_passed + 1
  say(("ok   - %s (%d ms)"):format(rule, (vim.uv.hrtime() - began) / 1e6))
end

function M.done()
  say(("%d rules hold"):format(n_passed))
  vim.cmd(n_passed > 0 and "qa!" or "cquit 1")
end

--- Comes back when it was carried out.
---@param line string An order to the Python side.
function M.order(line)
  n_ordered = n_ordered + 1
  io.stdout:write("order " .. line .. "\n")
  io.stdout:flush()
  M.wait("carried out: " .. line, function()
    return n_carried_out >= n_ordered
  end)
end

---@param reply table What the model answers next, as in the fake's scripts.
function M.script(reply)
  M.order("script " .. vim.json.encode(reply))
end

function M.eq(wanted, found)
  if not vim.deep_equal(wanted, found) then
    error(("wanted %s\nfound  %s"):format(vim.inspect(wanted), vim.inspect(found)), 2)
  end
end

---@param what string
---@param holds fun(): any
---@return any
function M.wait(what, holds)
  local found
  local ok = vim.wait(WAIT_MS, function()
    found = holds()
    return found
  end, 10)
  if not ok then
    local chat = package.loaded["palimpsest.chat"] and require("palimpsest.chat").current()
    local seen = chat and chat.view and M.transcript(chat):sub(-600) or ""
    error(("it did not happen: %s\n%s\nmessages: %s"):format(what, seen, vim.fn.execute("messages")), 2)
  end
  return found
end

---@return palimpsest.Chat
function M.chat()
  return assert(require("palimpsest.chat").current())
end

--- What the bar above the input says is going on.
---@return string
function M.status()
  return M.chat():status(require("palimpsest.texts").bar)
end

function M.transcript(chat)
  return table.concat(vim.api.nvim_buf_get_lines(chat.view.buf, 0, -1, false), "\n")
end

---@param wanted string Exactly this, no pattern.
function M.shows(wanted)
  return M.wait("shown: " .. wanted, function()
    return M.transcript(M.chat()):find(wanted, 1, true)
  end)
end

function M.lacks(unwanted)
  if M.transcript(M.chat()):find(unwanted, 1, true) then
    error(("%s\nis in\n%s"):format(unwanted, M.transcript(M.chat())), 2)
  end
end

function M.count(text)
  local n = select(2, M.transcript(M.chat()):gsub(vim.pesc(text), ""))
  return n
end

---@param text string Typed into the input and sent.
function M.send(text)
  local chat = M.chat()
  chat.input:set_text(text)
  vim.api.nvim_set_current_win(chat.windows.input)
  vim.api.nvim_feedkeys(vim.keycode("<CR>"), "mx", false)
end

function M.idle()
  M.wait("the answer is whole", function()
    local chat = M.chat()
    return chat.stream == nil and not chat.reading
  end)
end

--- Until the chat knows what its folder holds.
function M.open()
  local is_open = false
  require("palimpsest.chat").get(require("palimpsest.client").root()):open(function()
    is_open = true
  end)
  M.wait("the chat is open", function()
    return is_open and M.chat().reading == nil
  end)
end

---@param answers table<string, fun(items: any[]): any> By the kind of question.
---@return { kind: string, prompt: string, lines: string[] }[] asked Filled as it is asked.
function M.answering(answers)
  local asked = {}
  vim.ui.select = function(items, options, on_choice)
    local lines = vim.tbl_map(options.format_item or tostring, items)
    table.insert(asked, { kind = options.kind, prompt = options.prompt, lines = lines })
    local answer = answers[options.kind]
    on_choice(answer and answer(items) or nil)
  end
  return asked
end

--- What the user is told, as it comes.
function M.notifications()
  local told = {}
  vim.notify = function(message)
    table.insert(told, message)
  end
  return told
end

return M
