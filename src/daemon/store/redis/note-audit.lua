-- Adds a line to the audit log, and deletes lines whose time has passed. KEYS[1]: the lines, by their times. ARGV: the
-- line as JSON without its time, how long a line is kept in ms, an id that makes the member unique and orders lines of
-- the same time.
call('ZADD', KEYS[1], now, ARGV[5] .. ARGV[3])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[4]))
call('PEXPIREAT', KEYS[1], now + tonumber(ARGV[4]))
return 1
