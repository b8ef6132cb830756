-- include: traces
-- KEYS[1]: the ring. ARGV: its name, `kept` or `refused`; how many it holds; fields and values of the trace.
local fields = {}
for place = 5, #ARGV do
  fields[#fields + 1] = ARGV[place]
end
keep_trace(ARGV[3], ARGV[4], fields)
return 1
