local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait

local function health()
  vim.cmd("checkhealth palimpsest")
  local buf = vim.api.nvim_get_current_buf()
  local report = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
  vim.cmd("silent! tabclose")
  vim.api.nvim_buf_delete(buf, { force = true })
  return report
end

local function has(report, wanted)
  assert(report:find(wanted, 1, true), ("%s\nis not in\n%s"):format(wanted, report))
end

it("says in :checkhealth that no server runs yet, and how to start it", function()
  local report = health()
  has(report, "Neovim 0.")
  has(report, "The tree-sitter parser markdown is installed.")
  has(report, "palimpsest 0.")
  has(report, "No server runs for")
  has(report, ":Palimpsest starts it")
end)

it("says in an empty chat that no model is set up, and how to add a key", function()
  t.open()
  shows("No model is set up yet.")
  shows(":Palimpsest key")
end)

it("lists the models that can be used first, and goes to the key for another", function()
  local models = t.answering({
    palimpsest_model = function(items)
      return items[#items]
    end,
  })
  local key = vim.fn.inputsecret
  local prompt
  vim.fn.inputsecret = function(said) -- luacheck: ignore 122
    prompt = said
    return ""
  end
  vim.cmd("Palimpsest model")
  wait("asked for a key", function()
    return prompt
  end)
  vim.fn.inputsecret = key -- luacheck: ignore 122
  local is_ready = true
  for _, line in ipairs(models[1].lines) do
    local needs = line:find("needs a key", 1, true) ~= nil
    assert(is_ready or needs, vim.inspect(models[1].lines))
    is_ready = not needs
  end
  assert(not is_ready, vim.inspect(models[1].lines))
end)

it("answers without a key, from the files of the folder", function()
  t.open()
  t.send("What does the greenhouse hold?")
  shows("lettuce")
  t.idle()
end)

it("highlights an answer as Markdown", function()
  assert(vim.treesitter.highlighter.active[t.chat().view.buf])
end)

it("says in :checkhealth that the server runs, and that no model is configured", function()
  local report = health()
  has(report, "runs for " .. t.chat().root)
  has(report, "offline")
  has(report, ":Palimpsest key")
end)

it("says in :checkhealth and in the chat when the server's executable is missing", function()
  require("palimpsest.client").get(t.chat().root):stop()
  wait("stopped", function()
    return not require("palimpsest.client").get(t.chat().root)
  end)
  vim.lsp.config("palimpsest", { cmd = { "no-such-palimpsest" } })
  has(health(), "there is no executable no-such-palimpsest")
  t.send("are you there?")
  shows("there is no executable no-such-palimpsest")
  eq("are you there?", t.chat().input:text())
end)

t.done()
