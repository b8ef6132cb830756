-- Postpones the next probe of an outage. KEYS[1]: the outages. ARGV: platform, ms until the next probe, 1 to postpone
-- only a probe that is due. Returns 1, or 0 if there is no outage or the probe is not due.
local found = call('HGET', KEYS[1], ARGV[3])
if not found then
  return 0
end
local outage = cjson.decode(found)
-- If the clock was set back, a probe that would wait longer than it was postponed is due now.
local due = outage.probe_at - now > outage.wait_ms or outage.probe_at <= now
if ARGV[5] == '1' and not due then
  return 0
end
outage.probe_at, outage.wait_ms = now + tonumber(ARGV[4]), tonumber(ARGV[4])
call('HSET', KEYS[1], ARGV[3], cjson.encode(outage))
return 1
