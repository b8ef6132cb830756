-- include: claims keys
-- Stores the answer of a claimed key. KEYS[1]: its claim. ARGV: key, owner, fingerprint, answer, ttl.
-- Returns 1, or 0 if the claim is lost.
if not claim_held(KEYS[1], ARGV[4]) then
  return 0
end
store_answer(ARGV[3], ARGV[5], ARGV[6], tonumber(ARGV[7]))
return 1
