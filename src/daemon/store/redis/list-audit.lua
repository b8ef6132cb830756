-- KEYS[1]: the lines of the audit log. ARGV: since when, how long a line is kept in ms, how many.
-- Returns member and time of each, newest first.
local kept = now - tonumber(ARGV[4]) + 1
return call('ZRANGE', KEYS[1], '+inf', math.max(kept, tonumber(ARGV[3])), 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[5], 'WITHSCORES')
