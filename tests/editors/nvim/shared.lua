local t = require("harness")
local it, shows, wait = t.it, t.shows, t.wait

--- Answers every choice by the beginning of what it offers.
local function choosing(wanted)
  vim.ui.select = function(items, options, done)
    for _, each in ipairs(items) do
      local line = options.format_item and options.format_item(each) or each
      if vim.startswith(line, wanted) then
        return done(each)
      end
    end
    error(("nothing begins with %s in %s"):format(wanted, vim.inspect(items)))
  end
end

local function winbar()
  return vim.api.nvim_get_option_value("winbar", { win = t.chat().windows.transcript, scope = "local" })
end

it("opens what a colleague shares, with the colleague's name beside what was said", function()
  t.open()
  choosing("bench")
  vim.cmd("Palimpsest shared")
  shows("In the reeds.")
  shows("Answer to ann")
  wait("the mark", function()
    return winbar():find("shared with", 1, true)
  end)
end)

it("shows who reads it", function()
  vim.cmd("Palimpsest readers")
  shows("Who reads this conversation:")
  shows("this machine")
end)

it("shows who writes, and their answer as it grows", function()
  t.order("tell opened")
  shows("It stands on one")
  wait("the writer", function()
    return winbar():find(" is writing", 1, true)
  end)
end)

it("goes on in a fork with what could not be sent", function()
  local before = t.chat().conversation_id
  choosing("Go on in a fork")
  t.send("And the stork?")
  wait("a fork", function()
    return t.chat().conversation_id and t.chat().conversation_id ~= before
  end)
  shows("And the stork?")
  t.idle()
end)

it("says what sharing would mean before it shares", function()
  choosing("Share")
  vim.cmd("Palimpsest share")
  shows("will read it, and what is said later.")
  shows("Shared with the team")
end)

t.order("tell forked")
t.done()
