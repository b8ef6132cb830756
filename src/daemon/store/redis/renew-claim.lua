-- include: claims
-- Extends a claim. KEYS[1]: the claim. ARGV: owner. Returns 1, or 0 if it is lost.
if not claim_held(KEYS[1], ARGV[3]) then
  return 0
end
claim_take(KEYS[1], ARGV[3])
return 1
