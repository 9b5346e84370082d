--- The server's process, one for each workspace folder: started when it is first needed, and again when it dies.
local config = require("palimpsest.config")
local methods = require("palimpsest.protocol").methods
local tell = require("palimpsest.tell")
local texts = require("palimpsest.texts").server

local M = {}

M.NAME = "palimpsest"
local HEALTHY_MS = 60000

---@alias palimpsest.Callback fun(err: lsp.ResponseError|nil, result: any)
---@alias palimpsest.Event "conversation"|"usage"|"context"|"facts"|"hub"|"presence"|"gone"|"ready"

---@type table<integer, (fun(client: vim.lsp.Client|nil, problem: string|nil))[]>
local waiting = {}
---@type table<integer, table<table, palimpsest.Callback>> What no answer has come to yet, by client.
local pending = {}
---@type table<string, fun(delta: palimpsest.TurnDelta)> By partial result token.
local streams = {}
---@type (fun(event: palimpsest.Event, root: string, params: table|nil))[]
local subscribers = {}
---@type table<string, { failures: integer, started: integer }> By workspace folder.
local lives = {}
local n_tokens = 0
local is_enabled = false

local function gone(sentence)
  return { code = 0, message = sentence, data = { kind = "server_gone", retryable = true } }
end

--- The workspace folder of a buffer. Of a buffer that is no file: the one Neovim is in.
---@param bufnr? integer
---@return string|nil root Nil for a file that lies outside of any.
function M.root(bufnr)
  bufnr = bufnr or vim.api.nvim_get_current_buf()
  local owned = vim.b[bufnr].palimpsest_root
  if owned then
    return owned
  end
  local markers = config.current.root_markers
  local cwd = vim.fs.normalize(assert(vim.uv.cwd()))
  local name = vim.api.nvim_buf_get_name(bufnr)
  if vim.bo[bufnr].buftype ~= "" or name == "" then
    return vim.fs.root(cwd, markers) or cwd
  end
  local path = vim.fs.normalize(vim.fn.fnamemodify(name, ":p"))
  return vim.fs.root(path, markers) or (vim.fs.relpath(cwd, path) and cwd) or nil
end

--- What `vim.lsp.config` takes. `vim.lsp.config("palimpsest", {…})` may change any of it.
---@return vim.lsp.Config
function M.lsp_config()
  return {
    cmd = config.current.cmd,
    root_dir = function(bufnr, on_dir)
      local root = M.root(bufnr)
      if root then
        on_dir(root)
      end
    end,
    settings = { palimpsest = config.current.settings },
    capabilities = {
      -- Neovim applies these and does not say so; without them the server proposes no edit.
      workspace = { workspaceEdit = { documentChanges = true } },
      -- Neovim asks such questions in a prompt that takes what is being typed. Without this the server tells instead.
      window = { showMessage = vim.NIL },
      experimental = { palimpsest = { notifications = true, drafts = true } },
    },
    handlers = require("palimpsest.handlers"),
    commands = vim.tbl_extend("error", require("palimpsest.facts").commands, require("palimpsest.code").commands),
    on_init = function(client)
      M._on_init(client)
    end,
    on_exit = function(code, signal, client_id)
      M._on_exit(code, signal, client_id)
    end,
  }
end

---@param fn fun(event: palimpsest.Event, root: string, params: table|nil)
function M.subscribe(fn)
  table.insert(subscribers, fn)
end

---@param event palimpsest.Event
---@param client_id integer
---@param params table|nil
function M.emit(event, client_id, params)
  local client = vim.lsp.get_client_by_id(client_id)
  if not client or not client.root_dir then
    return
  end
  for _, fn in ipairs(subscribers) do
    fn(event, client.root_dir, params)
  end
end

---@param root string
---@return vim.lsp.Client|nil
function M.get(root)
  for _, client in ipairs(vim.lsp.get_clients({ name = M.NAME, _uninitialized = true })) do
    if client.root_dir == root and not client:is_stopped() then
      return client
    end
  end
end

--- The executable that `cmd` names, or why there is none.
---@return string|nil path
---@return string|nil problem
function M.executable()
  local cmd = vim.lsp.config[M.NAME].cmd
  if type(cmd) == "function" then
    return texts.by_function
  end
  local path = vim.fn.exepath(cmd[1])
  if path == "" then
    return nil, texts.no_executable:format(cmd[1])
  end
  return path
end

---@param root string
---@return vim.lsp.Client|nil
---@return string|nil problem
local function start(root)
  local running = M.get(root)
  if running then
    return running
  end
  local _, problem = M.executable()
  if problem then
    return nil, problem
  end
  local wanted = vim.deepcopy(vim.lsp.config[M.NAME])
  wanted.name, wanted.root_dir = M.NAME, root
  local id = vim.lsp.start(wanted, { attach = false, silent = true })
  local client = id and vim.lsp.get_client_by_id(id)
  if not client then
    return nil, texts.not_started
  end
  return client
end

---@param root string
---@param fn fun(client: vim.lsp.Client|nil, problem: string|nil)
local function with_client(root, fn)
  local client, problem = start(root)
  if not client then
    return fn(nil, problem)
  end
  if not is_enabled then
    -- From the first use on, the files of the folder are shown to the server: what is unsaved counts.
    is_enabled = true
    vim.lsp.enable(M.NAME)
  end
  if client.initialized then
    return fn(client)
  end
  waiting[client.id] = waiting[client.id] or {}
  table.insert(waiting[client.id], fn)
end

--- Starts the server if need be. The callback is called once: with the answer, with its error, or with an error when
--- the server ends before. Not after `cancel`.
---@param root string
---@param method string
---@param params table
---@param callback palimpsest.Callback
---@return { cancel: fun() }
function M.request(root, method, params, callback)
  local is_cancelled, withdraw = false, nil
  with_client(root, function(client, problem)
    if is_cancelled then
      return
    elseif not client then
      -- Never before `request` has come back: who asks may not know yet what was asked.
      return vim.schedule(function()
        callback(gone(problem or texts.ended))
      end)
    end
    local key = {}
    pending[client.id] = pending[client.id] or {}
    pending[client.id][key] = callback
    local function settle(err, result)
      if pending[client.id] and pending[client.id][key] then
        pending[client.id][key] = nil
        callback(err, result)
      end
    end
    local is_sent, id = client:request(method, next(params) == nil and vim.empty_dict() or params, settle)
    if not is_sent then
      return vim.schedule(function()
        settle(gone(texts.ended))
      end)
    end
    -- Neovim drops the answer to a cancelled request, so nobody may wait for it.
    withdraw = function()
      if pending[client.id] and pending[client.id][key] then
        pending[client.id][key] = nil
        client:cancel_request(assert(id))
      end
    end
  end)
  return {
    cancel = function()
      is_cancelled = true
      if withdraw then
        withdraw()
      end
    end,
  }
end

--- For places that cannot wait otherwise. Never starts a server.
---@param root string
---@param method string
---@param params table
---@param timeout_ms integer
---@return any result
---@return string|nil problem
function M.request_sync(root, method, params, timeout_ms)
  local client = M.get(root)
  if not client or not client.initialized then
    return nil, texts.not_running
  end
  params = next(params) == nil and vim.empty_dict() or params
  local answer, problem = client:request_sync(method, params, timeout_ms)
  if not answer then
    return nil, texts.no_answer:format(problem or "")
  end
  return answer.result, answer.err and answer.err.message
end

---@param fn fun(delta: palimpsest.TurnDelta)
---@return string token
function M.open_stream(fn)
  n_tokens = n_tokens + 1
  local token = ("palimpsest-%d-%d"):format(vim.uv.os_getpid(), n_tokens)
  streams[token] = fn
  return token
end

---@param token string
function M.close_stream(token)
  streams[token] = nil
end

---@param token string|integer
---@return fun(value: table)|nil
function M.stream(token)
  return streams[token]
end

---@param client vim.lsp.Client
function M._on_init(client)
  local root = client.root_dir
  if root then
    local life = lives[root] or { failures = 0 }
    life.started = vim.uv.now()
    lives[root] = life
  end
  client:request(methods.ToolsRegisterRequest, { tools = { require("palimpsest.terminal").TOOL } }, function() end)
  local shown = vim.deepcopy(config.current.diagnostics)
  if next(shown) then
    local facts = require("palimpsest.facts")
    shown.virtual_text = shown.virtual_text == true and { format = facts.beside_line } or shown.virtual_text
    vim.diagnostic.config(shown, facts.namespace(client))
  end
  local fns = waiting[client.id] or {}
  waiting[client.id] = nil
  -- Neovim calls this before it has said `initialized`.
  vim.schedule(function()
    for _, fn in ipairs(fns) do
      fn(client)
    end
    M.emit("ready", client.id)
  end)
end

---@param root string
---@param buffers integer[]
local function restart_later(root, buffers)
  local rules = config.current.restart
  local life = lives[root] or { failures = 0, started = vim.uv.now() }
  lives[root] = life
  if vim.uv.now() - life.started > HEALTHY_MS then
    life.failures = 0
  end
  life.failures = life.failures + 1
  if life.failures > rules.attempts then
    tell.error(texts.keeps_ending)
    return
  end
  local delay = math.min(rules.delay_ms * 2 ^ (life.failures - 1), rules.max_delay_ms)
  vim.defer_fn(function()
    local client, problem = start(root)
    if not client then
      tell.error(problem --[[@as string]])
      return
    end
    for _, bufnr in ipairs(buffers) do
      if vim.api.nvim_buf_is_valid(bufnr) then
        vim.lsp.buf_attach_client(bufnr, client.id)
      end
    end
  end, delay)
end

---@param code integer
---@param signal integer
---@param client_id integer
function M._on_exit(code, signal, client_id)
  local client = vim.lsp.get_client_by_id(client_id)
  local root = client and client.root_dir
  local buffers = client and vim.tbl_keys(client.attached_buffers) or {}
  local is_wanted = code == 0 and (signal == 0 or signal == 15)
  vim.schedule(function()
    local callbacks, fns = pending[client_id] or {}, waiting[client_id] or {}
    pending[client_id], waiting[client_id] = nil, nil
    for _, fn in ipairs(fns) do
      fn(nil, texts.ended_at_start)
    end
    for _, callback in pairs(callbacks) do
      callback(gone(texts.ended))
    end
    require("palimpsest.approvals").gone(client_id)
    if root then
      for _, fn in ipairs(subscribers) do
        fn("gone", root, { is_wanted = is_wanted })
      end
      if not is_wanted and vim.v.exiting == vim.NIL then
        restart_later(root, buffers)
      end
    end
  end)
end

--- Stops the folder's server, if it runs, and starts it.
---@param root string
function M.restart(root)
  lives[root] = nil
  local client = M.get(root)
  local buffers = client and vim.tbl_keys(client.attached_buffers) or {}
  local function begin()
    local fresh, problem = start(root)
    if not fresh then
      tell.error(problem --[[@as string]])
      return
    end
    for _, bufnr in ipairs(buffers) do
      if vim.api.nvim_buf_is_valid(bufnr) then
        vim.lsp.buf_attach_client(bufnr, fresh.id)
      end
    end
  end
  if not client then
    return begin()
  end
  client:stop()
  local timer, deadline = assert(vim.uv.new_timer()), vim.uv.now() + 5000
  timer:start(
    20,
    20,
    vim.schedule_wrap(function()
      if timer:is_closing() then
        return
      elseif not vim.lsp.get_client_by_id(client.id) then
        timer:close()
        begin()
      elseif vim.uv.now() > deadline then
        deadline = math.huge
        client:stop(true)
      end
    end)
  )
end

return M
