-- Rewrites a ring without some traces. A deleted entry of a Redis stream stays in its block in memory and on disk, so
-- the other entries are copied. KEYS[1]: the ring. ARGV: ids of entries.
local gone, copy = {}, key('traces', nil, 'copy')
for place = 3, #ARGV do
  gone[ARGV[place]] = true
end
local ends, after = call('PEXPIRETIME', KEYS[1]), '-'
call('DEL', copy)
while true do
  local entries = call('XRANGE', KEYS[1], after, '+', 'COUNT', 500)
  for _, entry in ipairs(entries) do
    if not gone[entry[1]] then
      call('XADD', copy, entry[1], unpack(entry[2]))
    end
  end
  if #entries < 500 then
    break
  end
  after = '(' .. entries[#entries][1]
end
if call('EXISTS', copy) == 0 then
  call('DEL', KEYS[1])
else
  call('RENAME', copy, KEYS[1])
  if ends > 0 then
    call('PEXPIREAT', KEYS[1], ends)
  end
end
return 1
