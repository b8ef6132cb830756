-- include: streams
-- Extends the claim of a stream. KEYS[1]: the stream. ARGV: id, owner. Returns 1, or 0 if the claim is lost.
if not stream_held(ARGV[3], ARGV[4]) then
  return 0
end
claim_stream(ARGV[3], ARGV[4])
return 1
