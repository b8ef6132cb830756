-- include: claiming
-- Which queues could be claimed now. KEYS[1]: the places of all queues. ARGV: JSON list of requests with `kind`
-- (`run`|`send`), `platforms`, `which` (`fresh`|`interrupted`), `limit`. Returns a list for each request: whether an
-- interrupted message is waiting (1 or 0), whether any unclaimed message is waiting, due or not (1 or 0), and three
-- values for the first message of each queue: how often its process died, when it is due, and its number.
local all = {}
for place, wanted in ipairs(cjson.decode(ARGV[3])) do
  local first, interrupted = look_at_queues(wanted.kind, wanted.platforms)
  local heads = { interrupted and 1 or 0, first and 1 or 0 }
  for at, head in ipairs(wanted.limit > 0 and due_heads(wanted, wanted.limit) or {}) do
    if at > wanted.limit then
      break
    end
    heads[#heads + 1] = head.interrupted
    heads[#heads + 1] = head.due
    heads[#heads + 1] = head.number
  end
  all[place] = heads
end
return all
