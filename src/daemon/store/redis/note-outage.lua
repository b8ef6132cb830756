-- Begins an outage, or counts a failed probe. KEYS[1]: the outages. ARGV: platform, reason, words, ms until the next
-- probe.
local found = call('HGET', KEYS[1], ARGV[3])
local before = found and cjson.decode(found) or { since = now, probes = -1 }
call('HSET', KEYS[1], ARGV[3], cjson.encode({ reason = ARGV[4], words = ARGV[5], since = before.since,
  probes = before.probes + 1, probe_at = now + tonumber(ARGV[6]), wait_ms = tonumber(ARGV[6]) }))
return 1
