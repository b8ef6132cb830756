import { type PersonKey, parsePersonKey } from '../../daemon/admin/who.ts';

/** A person as operators see it: the claims that identify the person. */
export interface PersonView {
  sub: string;
  issuer: string | null;
  tenant_id: string | null;
}

export function personView(key: PersonKey | null): PersonView | null {
  if (key === null) return null;
  const { iss, tenant_id, sub } = parsePersonKey(key);
  return { sub, issuer: iss || null, tenant_id: tenant_id || null };
}

export function personInWords(person: PersonView | null): string {
  if (person === null) return 'nobody';
  const { sub, issuer, tenant_id } = person;
  const of = [issuer && `issuer ${issuer}`, tenant_id && `tenant ${tenant_id}`].filter(Boolean).join(', ');
  return of ? `${sub} (${of})` : sub;
}
