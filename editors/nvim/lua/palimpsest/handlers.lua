--- What the server sends of its own accord.
local client = require("palimpsest.client")
local methods = require("palimpsest.protocol").methods
local tell = require("palimpsest.tell")

local TELL = { [vim.lsp.protocol.MessageType.Error] = tell.error, [vim.lsp.protocol.MessageType.Warning] = tell.warn }

---@param event palimpsest.Event
local function telling(event)
  return function(_, params, ctx)
    client.emit(event, ctx.client_id, params)
  end
end

return {
  ["$/progress"] = function(err, params, ctx)
    local stream = client.stream(params.token)
    if stream then
      return stream(params.value)
    end
    return vim.lsp.handlers["$/progress"](err, params, ctx)
  end,
  -- Neovim's own stops everything until Enter is pressed when a message is longer than a line.
  ["window/showMessage"] = function(_, params)
    (TELL[params.type] or tell.info)(params.message)
  end,
  ["workspace/applyEdit"] = function(err, params, ctx)
    return require("palimpsest.edits").apply(err, params, ctx)
  end,
  ["$/cancelRequest"] = function()
    require("palimpsest.approvals").cancelled()
  end,
  [methods.DidChangeConversationNotification] = telling("conversation"),
  [methods.DidChangeUsageNotification] = telling("usage"),
  [methods.ContextEventNotification] = telling("context"),
  [methods.DidChangeFactsNotification] = function(_, params, ctx)
    client.emit("facts", ctx.client_id, params)
    require("palimpsest.facts").look_again(ctx.client_id)
  end,
  [methods.DidChangeHubNotification] = telling("hub"),
  [methods.DidChangePresenceNotification] = telling("presence"),
  [methods.DidMoveApartNotification] = function(_, params)
    require("palimpsest.sharing").tell_moved(params)
  end,
  [methods.ApprovalRequestRequest] = function(_, params, ctx)
    return require("palimpsest.approvals").ask(params, ctx.client_id)
  end,
  [methods.ToolsRunRequest] = function(_, params)
    return require("palimpsest.terminal").run(params)
  end,
}
