-- include: claiming
-- Everything that a worker needs before its next attempts. KEYS[1]: the places of all queues; KEYS[2]: the outages.
-- ARGV: JSON of `platforms`; `run` and `send`: an owner for each queue of that kind that may be claimed. Returns the
-- time, platform and JSON of each outage, 1 if an interrupted message is waiting (in which case nothing is claimed) or
-- 0, then owner and fields of each message.
local wanted, outages, near = cjson.decode(ARGV[3]), call('HGETALL', KEYS[2]), {}
local away = {}
for place = 1, #outages, 2 do
  away[outages[place]] = true
end
for _, platform in ipairs(wanted.platforms) do
  if not away[platform] then
    near[#near + 1] = platform
  end
end
local lanes = { { kind = 'run', platforms = wanted.platforms }, { kind = 'send', platforms = near } }
for _, lane in ipairs(lanes) do
  local _, interrupted = look_at_queues(lane.kind, lane.platforms)
  if interrupted then
    return { now, outages, 1, {} }
  end
end
local claimed = {}
for _, lane in ipairs(lanes) do
  lane.which, lane.owners = 'fresh', wanted[lane.kind]
  if #lane.owners > 0 and #lane.platforms > 0 then
    for _, claim in ipairs(claim_messages(lane)) do
      claimed[#claimed + 1] = claim
    end
  end
end
return { now, outages, 0, claimed }
