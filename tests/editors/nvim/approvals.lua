local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait

vim.lsp.config("palimpsest", { init_options = { palimpsest = { trust = true } } })
vim.cmd.edit("notes.txt")
local notes = vim.api.nvim_get_current_buf()
t.open()

local answer
local shown
local asked = t.answering({
  palimpsest_approval = function(items)
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(win).relative ~= "" then
        local buf = vim.api.nvim_win_get_buf(win)
        shown = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
        eq("", vim.bo[buf].filetype)
      end
    end
    return vim.iter(items):find(function(item)
      return item[1] == answer
    end)
  end,
})

local function propose(old, new)
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

it("shows all of what would happen, and does it after a yes", function()
  answer = "once"
  propose("a leaf", "two leaves")
  eq(1, #asked)
  assert(shown:find("+two leaves of lettuce", 1, true), shown)
  eq("two leaves of lettuce", second_line())
  assert(asked[1].lines[#asked[1].lines]:find("No, and never", 1, true))
end)

it("takes a question that was dismissed for a no", function()
  answer = nil
  propose("two leaves", "three leaves")
  eq(2, #asked)
  eq("two leaves of lettuce", second_line())
end)

it("closes the window of a question behind it", function()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    eq("", vim.api.nvim_win_get_config(win).relative)
  end
end)

it("never asks again where the answer was never, until that is taken back", function()
  answer = "never"
  propose("two leaves", "four leaves")
  eq(3, #asked)
  propose("two leaves", "five leaves")
  eq(3, #asked)
  local told = t.notifications()
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
  assert(rules[1].lines[1]:find("never runs", 1, true))
end)

t.done()
