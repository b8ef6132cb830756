/**
 * What an owner's alias means for the memories that are stored under the owner's key. All backends share this rule.
 * `bind`: the alias is recorded from now on. `new_owner`: the memories belong to somebody else and are deleted.
 */
export function aliasChange(stored: string | null, given: string | null): 'none' | 'bind' | 'new_owner' {
  if (given === null || given === stored) return 'none';
  return stored === null ? 'bind' : 'new_owner';
}
