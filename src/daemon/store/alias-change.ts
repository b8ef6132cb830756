/**
 * What happens to the memories of an owner who comes with an alias. All backends share this rule. `bind`: the owner had
 * no alias yet, so this one is recorded. `new_owner`: the stored alias is different, so the memories belong to somebody
 * else and are deleted.
 */
export function aliasChange(stored: string | null, given: string | null): 'none' | 'bind' | 'new_owner' {
  if (given === null || given === stored) return 'none';
  return stored === null ? 'bind' : 'new_owner';
}
