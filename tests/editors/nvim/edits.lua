local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait

vim.lsp.config("palimpsest", { init_options = { palimpsest = { trust = true } } })
vim.cmd.edit("notes.txt")
local notes = vim.api.nvim_get_current_buf()
t.open()

local n_edits = 0

--- Has the model make these edits, each accepted.
---@param ... table
local function edit(...)
  n_edits = n_edits + 1
  local calls = {}
  for _, arguments in ipairs({ ... }) do
    table.insert(calls, { name = "propose_edit", arguments = arguments })
  end
  local done = ("Done %d."):format(n_edits)
  t.script({ text = "", calls = calls })
  t.script({ text = done })
  t.send("edit " .. n_edits)
  for _ = 1, #calls do
    wait("the question", require("palimpsest.approvals").is_waiting)
    vim.cmd("Palimpsest decide")
    vim.api.nvim_feedkeys("y", "mx", false)
  end
  shows(done)
  t.idle()
end

local function replacing(old, new)
  return { path = "notes.txt", edits = { { old_text = old, new_text = new } } }
end

local function lines(buf)
  return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
end

it("takes back an edit, keeps what was typed since, and its undo brings the edit again", function()
  edit(replacing("a leaf", "two leaves"))
  eq("two leaves of lettuce", lines(notes)[2])
  vim.api.nvim_buf_set_lines(notes, 0, 0, false, { "typed above" })
  vim.api.nvim_buf_set_lines(notes, -1, -1, false, { "typed below" })
  t.answering({
    palimpsest_revert = function(items)
      return items[1]
    end,
  })
  vim.cmd("Palimpsest revert")
  shows("`notes.txt`: taken back.")
  eq(
    { "typed above", "The greenhouse holds", "a leaf of lettuce", "and 40 heads of lettuce.", "typed below" },
    lines(notes)
  )
  vim.api.nvim_buf_call(notes, function()
    vim.cmd.undo()
  end)
  eq("two leaves of lettuce", lines(notes)[3])
end)

it("lists edits, and compares before, after and now", function()
  local asked = t.answering({
    palimpsest_edits = function(items)
      return items[1]
    end,
    palimpsest_edit = function(items)
      return items[1]
    end,
  })
  vim.cmd("Palimpsest changes")
  wait("three windows", function()
    return #vim.api.nvim_tabpage_list_wins(0) == 3 and vim.wo.diff
  end)
  eq({ "notes.txt  +1 -1  applied" }, asked[1].lines)
  local shown = vim.tbl_map(function(win)
    return lines(vim.api.nvim_win_get_buf(win))[2]
  end, vim.api.nvim_tabpage_list_wins(0))
  eq({ "a leaf of lettuce", "two leaves of lettuce", "The greenhouse holds" }, shown)
  vim.cmd.tabclose()
end)

it("refuses where the lines of the edit were changed again, and says so", function()
  edit(replacing("typed below", "typed by nobody"))
  vim.api.nvim_buf_set_lines(notes, -2, -1, false, { "typed by somebody" })
  local before = lines(notes)
  t.answering({
    palimpsest_revert = function(items)
      return items[1]
    end,
  })
  vim.cmd("Palimpsest revert")
  shows("`notes.txt`: left as it is.")
  eq(before, lines(notes))
end)

it("removes a file that an edit made, of which Neovim holds a buffer that was never saved", function()
  edit({ path = "new.zz", content = "new\n" })
  local path = vim.fs.joinpath(vim.fn.getcwd(), "new.zz")
  assert(vim.uv.fs_stat(path))
  local buf = vim.fn.bufnr(path)
  assert(vim.lsp.buf_is_attached(buf, vim.lsp.get_clients({ name = "palimpsest" })[1].id), "the server sees its text")
  vim.cmd("Palimpsest revert new.zz")
  shows("`new.zz`: taken back.")
  eq(nil, (vim.uv.fs_stat(path)))
end)

it("takes no edit for a buffer that has changed meanwhile", function()
  local uri = vim.uri_from_bufnr(notes)
  local version = vim.lsp.util.buf_versions[notes]
  local client = vim.lsp.get_clients({ name = "palimpsest" })[1]
  local function apply(changes)
    local params = { edit = { documentChanges = changes } }
    return require("palimpsest.edits").apply(nil, params, { client_id = client.id, method = "workspace/applyEdit" })
  end
  local place = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 0 } }
  local stale = { textDocument = { uri = uri, version = version - 1 }, edits = { { range = place, newText = "x" } } }
  local before = lines(notes)
  eq(false, apply({ stale }).applied)
  eq(false, apply({ stale, { kind = "delete", uri = uri } }).applied)
  eq(before, lines(notes))
  assert(vim.uv.fs_stat(vim.api.nvim_buf_get_name(notes)))
end)

it("takes no edit for a buffer that is locked, and says so in words", function()
  vim.bo[notes].modifiable = false
  local before = lines(notes)
  edit(replacing("greenhouse", "glasshouse"))
  vim.bo[notes].modifiable = true
  shows("The buffer is locked against changes ('nomodifiable').")
  eq(before, lines(notes))
end)

it("offers to take the edits back as well when their answer is hidden", function()
  edit(replacing("40 heads", "50 heads"))
  local asked = t.answering({
    palimpsest_hidden_edits = function(items)
      return items[1]
    end,
  })
  t.script({ text = "Answered again." })
  vim.cmd("Palimpsest retry")
  shows("Answered again.")
  t.idle()
  assert(asked[1].prompt:find("1 edit", 1, true), asked[1].prompt)
  assert(vim.list_contains(lines(notes), "and 40 heads of lettuce."), vim.inspect(lines(notes)))
  edit(replacing("40 heads", "60 heads"))
  vim.cmd("Palimpsest rollback")
  wait("taken back", function()
    return vim.list_contains(lines(notes), "and 40 heads of lettuce.")
  end)
end)

t.done()
