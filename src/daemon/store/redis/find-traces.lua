-- Traces that an id names, in a part of a ring. KEYS[1]: the ring. ARGV: id; the place to begin after, or empty; how
-- many entries to examine. Returns the place reached (empty: the end of the ring), then time and trace of each that was
-- found.
local id, after, count = ARGV[3], ARGV[4], tonumber(ARGV[5])
local entries = call('XRANGE', KEYS[1], after == '' and '-' or '(' .. after, '+', 'COUNT', count)
local found = { #entries == count and entries[count][1] or '' }
for _, entry in ipairs(entries) do
  local fields = {}
  for place = 1, #entry[2], 2 do
    fields[entry[2][place]] = entry[2][place + 1]
  end
  local named = fields.turn == id or fields.request == id or fields.session == id
    or (fields.message and (fields.message == id or fields.platform .. ':' .. fields.message == id))
  if named and tonumber(fields.at) > now - TRACE_RETENTION_MS then
    found[#found + 1] = fields.at
    found[#found + 1] = fields.trace
  end
end
return found
