-- Finds the traces that have an id, or the traces of a user, in a part of a ring. KEYS[1]: the ring. ARGV: the id; the
-- entry after which to begin (empty: the beginning); how many entries to examine; and, if the id is the id of a user,
-- the channel (empty: all channels). Returns the last entry that was examined (empty: the end of the ring), then time
-- and trace of each trace that was found.
local id, after, count, platform = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
local entries = call('XRANGE', KEYS[1], after == '' and '-' or '(' .. after, '+', 'COUNT', count)
local found = { #entries == count and entries[count][1] or '' }
for _, entry in ipairs(entries) do
  local fields = {}
  for place = 1, #entry[2], 2 do
    fields[entry[2][place]] = entry[2][place + 1]
  end
  local named
  if platform then
    named = (platform == '' or fields.platform == platform) and cjson.decode(fields.trace).user_id == id
  else
    named = fields.turn == id or fields.request == id or fields.session == id
      or (fields.message and (fields.message == id or fields.platform .. ':' .. fields.message == id))
  end
  if named and tonumber(fields.at) > now - TRACE_RETENTION_MS then
    found[#found + 1] = fields.at
    found[#found + 1] = fields.trace
  end
end
return found
