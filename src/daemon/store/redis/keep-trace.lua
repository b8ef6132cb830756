-- include: traces erased
-- Stores a trace. KEYS[1]: the ring. ARGV: its name, `kept` or `refused`; its maximum number of traces; fields and
-- values of the trace. A trace of a run that was under way when its session or its message was erased is not kept.
local fields = {}
for place = 5, #ARGV do
  fields[#fields + 1] = ARGV[place]
end
for place = 1, #fields, 2 do
  if (fields[place] == 'turn' or fields[place] == 'session') and was_erased(fields[place + 1]) then
    return 0
  end
end
keep_trace(ARGV[3], ARGV[4], fields)
return 1
