-- include: inbox
-- Messages, newest first. KEYS[1]: all messages. ARGV: how many newer messages to skip, how many to examine, the
-- maximum number to return, states as JSON. Returns how many were examined, then the fields of each that was found.
local wanted = {}
for _, state in ipairs(cjson.decode(ARGV[6])) do
  wanted[state] = true
end
local from, limit = tonumber(ARGV[3]), tonumber(ARGV[5])
local ids = call('ZREVRANGE', KEYS[1], from, from + tonumber(ARGV[4]) - 1)
local found = { #ids }
for _, id in ipairs(ids) do
  if #found > limit then
    break
  end
  local queue = queue_of(id)
  if queue and wanted[call('HGET', message_key(queue, id), 'state')] then
    found[#found + 1] = message_of(queue, id)
  end
end
return found
