-- Rings of traces: Redis streams, limited by number and age.

-- Adds a trace, given as a list of fields and values. The last of them is the trace itself.
local function keep_trace(ring, max, fields)
  local at = key('traces', nil, ring)
  local last = call('XREVRANGE', at, '+', '-', 'COUNT', 1)[1]
  -- Ids only grow, even if the clock was set back.
  local time = math.max(now, last and tonumber(string.match(last[1], '^%d+')) or 0)
  call('XADD', at, 'MAXLEN', '=', max, time .. '-*', 'at', now, unpack(fields))
  call('XTRIM', at, 'MINID', '~', now - TRACE_RETENTION_MS)
  call('PEXPIREAT', at, now + TRACE_RETENTION_MS)
end
