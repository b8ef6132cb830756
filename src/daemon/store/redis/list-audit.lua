-- Lists lines of the audit log. KEYS[1]: the lines. ARGV: the earliest time, how long a line is kept in ms, the maximum
-- number of lines. Returns member and time of each line, newest first.
local kept = now - tonumber(ARGV[4]) + 1
return call('ZRANGE', KEYS[1], '+inf', math.max(kept, tonumber(ARGV[3])), 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[5], 'WITHSCORES')
