-- include: claiming
-- When the first unclaimed queue is due, and whether an interrupted message is waiting. KEYS[1]: the places of all
-- queues. ARGV: JSON list of requests: `kind`: `run`|`send`; `platforms`. Returns the time or null, and 1 or 0, for
-- each request.
local all = {}
for place, asked in ipairs(cjson.decode(ARGV[3])) do
  local first, interrupted = look_at_queues(asked.kind, asked.platforms)
  all[place] = { first or false, interrupted and 1 or 0 }
end
return all
