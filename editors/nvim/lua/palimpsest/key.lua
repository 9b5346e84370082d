--- Setting the key of a model service without a terminal: choose the service, type the key, have it checked.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local text = require("palimpsest.text")
local texts = require("palimpsest.texts").key

local M = {}

---@param root string
---@param service palimpsest.ServiceInfo
---@param key string|nil Nil removes the one that is kept.
---@param done fun()
local function set(root, service, key, done)
  local params = { provider = service.provider, key = key or vim.NIL, store = true }
  client.request(root, methods.CredentialsSetRequest, params, function(err, result)
    if err then
      return tell.failed(err)
    end
    tell.info(result.message)
    done()
  end)
end

---@param root string
---@param service palimpsest.ServiceInfo
---@param done fun()
local function ask(root, service, done)
  local title = text.one_line(service.title)
  local key = vim.trim(vim.fn.inputsecret(texts.prompt:format(title, title)))
  if key == "" then
    return
  end
  tell.info(texts.checking:format(title))
  local params = { provider = service.provider, key = key }
  client.request(root, methods.CredentialsCheckRequest, params, function(err, result)
    local said = text.one_line(err and err.message or result.message)
    if not err and result.verdict == "accepted" then
      set(root, service, key, done)
    elseif not err and result.verdict == "refused" then
      tell.error(texts.refused:format(title, said))
    else
      vim.ui.select({ texts.keep, texts.drop }, {
        prompt = texts.unchecked:format(title, said),
        kind = "palimpsest_key_unchecked",
      }, function(choice)
        if choice == texts.keep then
          set(root, service, key, done)
        end
      end)
    end
  end)
end

---@param root string
---@param service palimpsest.ServiceInfo
---@param done fun()
local function change(root, service, done)
  if not service.source then
    return ask(root, service, done)
  end
  vim.ui.select({ texts.change, texts.remove }, {
    prompt = texts.action:format(text.one_line(service.title)),
    kind = "palimpsest_key_action",
  }, function(choice)
    if choice == texts.change then
      ask(root, service, done)
    elseif choice == texts.remove then
      set(root, service, nil, done)
    end
  end)
end

---@param root string
---@param provider string|nil Nil lets the user choose.
---@param done fun() When a key was set or removed.
function M.set(root, provider, done)
  client.request(root, methods.CredentialsListRequest, {}, function(err, result)
    if err then
      return tell.failed(err)
    end
    local services = vim.tbl_filter(function(service)
      return service.takesKey and (not provider or service.provider == provider)
    end, result.services)
    if #services == 0 then
      tell.info(texts.none)
    elseif provider then
      change(root, services[1], done)
    else
      vim.ui.select(services, {
        prompt = texts.service,
        kind = "palimpsest_key_service",
        format_item = function(service)
          return (service.source and texts.is_set or texts.no_key):format(text.one_line(service.title))
        end,
      }, function(service)
        if service then
          change(root, service, done)
        end
      end)
    end
  end)
end

return M
