local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait

vim.lsp.config("palimpsest", { init_options = { palimpsest = { trust = true } } })
vim.cmd.edit("notes.txt")
local notes = vim.api.nvim_get_current_buf()
t.open()

local told = t.notifications()

---@return integer|nil win The window of a question.
local function question()
  return vim.iter(vim.api.nvim_list_wins()):find(function(win)
    return vim.api.nvim_win_get_config(win).relative ~= ""
  end)
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "mx", false)
end

--- Has the model propose an edit, and waits until the question is shown.
---@return integer buf Of the question.
local function ask(old, new)
  local arguments = { path = "notes.txt", edits = { { old_text = old, new_text = new } } }
  t.script({ text = "", calls = { { name = "propose_edit", arguments = arguments } } })
  t.script({ text = "Done with " .. new .. "." })
  t.send("change it to " .. new)
  return vim.api.nvim_win_get_buf(wait("the question", question))
end

---@param key string
local function answer(key, new)
  vim.cmd("Palimpsest decide")
  press(key)
  shows("Done with " .. new .. ".")
  t.idle()
end

local function propose_unasked(old, new)
  local arguments = { path = "notes.txt", edits = { { old_text = old, new_text = new } } }
  t.script({ text = "", calls = { { name = "propose_edit", arguments = arguments } } })
  t.script({ text = "Done with " .. new .. "." })
  t.send("change it to " .. new)
  shows("Done with " .. new .. ".")
  t.idle()
end

local function second_line()
  return vim.api.nvim_buf_get_lines(notes, 1, 2, false)[1]
end

it("shows all of what would happen in colors, and does it after a yes", function()
  local buf = ask("a leaf", "two leaves")
  eq("", vim.bo[buf].filetype)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  assert(vim.list_contains(lines, "+two leaves of lettuce"), vim.inspect(lines))
  local groups = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
    groups[lines[mark[2] + 1]] = mark[4].line_hl_group
  end
  eq("PalimpsestAdded", groups["+two leaves of lettuce"])
  eq("PalimpsestRemoved", groups["-a leaf of lettuce"])
  assert(t.status():find("decide", 1, true), t.status())
  answer("y", "two leaves")
  eq("two leaves of lettuce", second_line())
  eq(nil, question())
end)

it("accepts all edits of an answer by one key, and asks again for the next answer", function()
  local function call(old, new)
    local arguments = { path = "notes.txt", edits = { { old_text = old, new_text = new } } }
    return { name = "propose_edit", arguments = arguments }
  end
  local calls = { call("two leaves", "seven leaves"), call("seven leaves", "eight leaves") }
  t.script({ text = "", calls = vim.list_extend(calls, { call("eight leaves", "two leaves") }) })
  t.script({ text = "Done with all." })
  t.send("change it three times")
  wait("the question", question)
  vim.cmd("Palimpsest decide")
  press("Y")
  shows("Done with all.")
  t.idle()
  eq("two leaves of lettuce", second_line())
  ask("two leaves", "nine leaves")
  answer("n", "nine leaves")
  eq("two leaves of lettuce", second_line())
end)

it("leaves the cursor and the typing alone, also when what is typed are its keys", function()
  local input = t.chat().windows.input
  ask("two leaves", "three leaves")
  eq(input, vim.api.nvim_get_current_win())
  press("iy, and n too<Esc>")
  eq("y, and n too", t.chat().input:text())
  assert(question(), "the question is still open")
  t.chat().input:set_text("")
  vim.cmd("Palimpsest decide")
  press("q")
  eq(input, vim.api.nvim_get_current_win())
  assert(question(), "it can be decided later")
  answer("n", "three leaves")
  eq("two leaves of lettuce", second_line())
end)

it("comes back with its window after that was closed", function()
  ask("two leaves", "six leaves")
  vim.api.nvim_win_close(assert(question()), true)
  answer("n", "six leaves")
  eq("two leaves of lettuce", second_line())
  vim.cmd("Palimpsest decide")
  assert(told[#told]:find("Nothing waits", 1, true), told[#told])
end)

it("never asks again where the answer was never, until that is taken back", function()
  ask("two leaves", "four leaves")
  answer("N", "four leaves")
  propose_unasked("two leaves", "five leaves")
  eq(nil, question())
  local rules = t.answering({
    palimpsest_approval_rule = function(items)
      return items[1]
    end,
  })
  vim.cmd("Palimpsest approvals")
  wait("taken back", function()
    return vim.iter(told):any(function(message)
      return message:find("asked again", 1, true)
    end)
  end)
  assert(rules[1].lines[1]:find("never allowed", 1, true))
end)

it("takes a question away with the server that asked it, and asks the next one", function()
  local client = require("palimpsest.client")
  local before = assert(client.get(t.chat().root)).id
  ask("two leaves", "seven leaves")
  t.order("kill-server")
  wait("told", function()
    return vim.iter(told):any(function(message)
      return message:find("so nothing was done", 1, true)
    end)
  end)
  eq(nil, question())
  eq(false, require("palimpsest.approvals").is_waiting())
  wait("another server runs", function()
    local now = client.get(t.chat().root)
    return now and now.initialized and now.id ~= before
  end)
  t.idle()
  eq("two leaves of lettuce", second_line())
  t.send("go on without it")
  shows("Done with seven leaves.") -- what the model was to say after the question
  t.idle()
  ask("two leaves", "eight leaves")
  answer("y", "eight leaves")
  eq("eight leaves of lettuce", second_line())
end)

t.done()
