/**
 * What to do with an owner's memories, given the alias that the owner has now. All backends share this rule. `bind`:
 * the owner had no alias yet, so the given alias is recorded. `new_owner`: the stored alias is different, so the
 * memories belong to somebody else and are deleted.
 */
export function aliasChange(stored: string | null, given: string | null): 'none' | 'bind' | 'new_owner' {
  if (given === null || given === stored) return 'none';
  return stored === null ? 'bind' : 'new_owner';
}
