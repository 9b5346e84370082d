--- `:checkhealth palimpsest`: each piece that is missing, and what to do about it.
local client = require("palimpsest.client")
local text = require("palimpsest.text")
local methods = require("palimpsest.protocol").methods
local texts = require("palimpsest.texts").health

local M = {}

local WAIT_MS = 10000

---@return boolean
local function is_old()
  local version = vim.version()
  local shown = ("%d.%d.%d"):format(version.major, version.minor, version.patch)
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.start(texts.editor)
    vim.health.ok(texts.version:format(shown))
    return false
  end
  local health = vim.health or require("health") -- where it is in Neovim 0.7, and how its functions are called up to 0.9
  local start, fail = health.start or health.report_start, health.error or health.report_error
  start(texts.editor)
  fail(texts.too_old:format(shown), texts.newer)
  return true
end

local function check_parsers()
  for _, language in ipairs({ "markdown", "markdown_inline" }) do
    if vim.treesitter.language.add(language) then
      vim.health.ok(texts.parser:format(language))
    else
      vim.health.warn(texts.no_parser:format(language), texts.parser_hint)
    end
  end
end

---@return boolean
local function check_executable()
  vim.health.start(texts.server)
  local path, problem = client.executable()
  if not path then
    vim.health.error(problem, {
      texts.install,
      texts.name_it,
    })
    return false
  end
  local cmd = vim.lsp.config[client.NAME].cmd
  if type(cmd) == "function" then
    vim.health.info(texts.by_function)
    return true
  end
  local ok, done = pcall(function()
    return vim.system(vim.list_extend(vim.deepcopy(cmd), { "--version" }), { text = true }):wait(WAIT_MS)
  end)
  if ok and done.code == 0 then
    vim.health.ok(texts.found:format(vim.trim(done.stdout), path))
  else
    vim.health.warn(texts.no_version:format(path), texts.run_it)
  end
  return true
end

---@param root string
---@return vim.lsp.Client|nil
local function check_client(root)
  local running = client.get(root)
  if not running then
    vim.health.warn(texts.none_runs:format(root), texts.starts)
    return nil
  end
  local is_ready = vim.wait(WAIT_MS, function()
    return running.initialized == true
  end, 20)
  if not is_ready then
    vim.health.error(texts.silent, texts.look_at:format(vim.lsp.get_log_path()))
    return nil
  end
  local about = running.server_info or {}
  vim.health.ok(texts.runs:format(about.name or "", about.version or "", root))
  local n_attached = vim.tbl_count(running.attached_buffers)
  if n_attached > 0 then
    vim.health.ok(texts.sees:format(text.counted(n_attached, texts.open_file)))
  else
    vim.health.info(texts.sees_none)
  end
  local experimental = (running.server_capabilities or {}).experimental
  if not (experimental and experimental.palimpsest) then
    vim.health.error(texts.foreign, texts.look_at_cmd)
    return nil
  end
  return running
end

---@param root string
local function check_model(root)
  vim.health.start(texts.model)
  local status, problem = client.request_sync(root, methods.ModelStatusRequest, {}, WAIT_MS)
  if not status then
    vim.health.error(texts.no_status:format(problem or ""))
    return
  end
  local model = status.model
  if model.isAvailable then
    vim.health.ok(texts.model_ready:format(model.name, model.provider, model.windowTokens))
  else
    vim.health.error(texts.model_unusable:format(model.name, model.provider), model.hint)
  end
  if model.provider == "offline" then
    vim.health.warn(texts.no_model, {
      texts.add_key,
    })
  end
  if not model.isAvailable then
    vim.health.info(texts.choose)
  end
  if status.calibration.tokenizer == "bytes" then
    vim.health.warn(texts.by_bytes)
  end
  if status.lastError then
    vim.health.warn(texts.failed:format(status.lastError))
  end
end

---@param root string
local function check_mcp(root)
  vim.health.start(texts.mcp)
  local found, problem = client.request_sync(root, methods.McpServersRequest, {}, WAIT_MS)
  if not found then
    vim.health.error(texts.no_status:format(problem or ""))
    return
  end
  for _, sentence in ipairs(found.problems) do
    vim.health.warn(sentence)
  end
  if #found.servers == 0 then
    vim.health.info(texts.mcp_none)
  end
  for _, server in ipairs(found.servers) do
    if server.state == "ready" then
      vim.health.ok(texts.mcp_ready:format(server.name, #server.tools, #server.resources, #server.prompts))
    else
      local tell = server.state == "failed" and vim.health.error or vim.health.warn
      tell(texts.mcp_rests:format(server.name, server.state, server.sentence), texts.mcp_look)
    end
    for _, sentence in ipairs(server.problems) do
      vim.health.warn(server.name .. ": " .. sentence)
    end
  end
end

function M.check()
  if is_old() then
    return
  end
  check_parsers()
  if not check_executable() then
    return
  end
  local chat = require("palimpsest.chat").current()
  local root = chat and chat.root or client.root() or vim.fs.normalize(assert(vim.uv.cwd()))
  if check_client(root) then
    check_model(root)
    check_mcp(root)
  end
end

return M
