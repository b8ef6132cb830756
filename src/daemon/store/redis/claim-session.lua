-- include: claims
-- Claims a session, whether it exists or not.
-- KEYS[1]: the claim. ARGV: owner. Returns 1, or 0 while another claim is valid.
if claim_valid(KEYS[1]) then
  return 0
end
claim_take(KEYS[1], ARGV[3])
return 1
