-- The second Neovim on a folder: it says and asks nothing, and sees what the first one does.
local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait

t.open()

it("shows the newest conversation of the folder", function()
  shows("the answer before")
end)

it("follows an answer live that another Neovim has asked for", function()
  t.order("tell ready")
  shows("a question of the first")
  shows("piece one")
  t.lacks("piece two")
  eq("Answering…", t.status())
  t.order("tell seen")
  shows("piece two")
  t.idle()
  eq(1, t.count("piece one"))
  eq(1, t.count("a question of the first"))
end)

it("shows how full the context is by then", function()
  wait("usage", function()
    return t.chat().usage and t.chat().usage.messageCount == 4
  end)
end)

t.done()
