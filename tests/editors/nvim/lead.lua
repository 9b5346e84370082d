-- The first Neovim on a folder; the second runs follow.lua.
local t = require("harness")
local it, shows = t.it, t.shows

t.open()

it("answers", function()
  t.script({ text = "the answer before" })
  t.send("before")
  shows("the answer before")
  t.idle()
  t.order("tell begun")
end)

it("asks while another looks on", function()
  t.wait("the other is ready", function()
    return vim.uv.fs_stat("ready")
  end)
  t.script({ text = "piece one, piece two, piece three" })
  t.order("hold 2")
  t.send("a question of the first")
  shows("piece one")
  t.wait("the other has seen it", function()
    return vim.uv.fs_stat("seen")
  end)
  t.order("let-go")
  shows("piece three")
  t.idle()
end)

it("stays until the other is done", function()
  t.wait("the other is done", function()
    return vim.uv.fs_stat("done")
  end)
end)

t.done()
