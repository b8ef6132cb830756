import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { personKey } from '../../../src/daemon/identity/identity.ts';

const part = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '"', ',', '","', '\\', '[', ']', '\u{d800}', '\u{d801}'),
);
const person = fc.record({ sub: part, iss: part, tenant_id: part });

describe('the key of a person', () => {
  it('differs in UTF-8 for each issuer, tenant and sub, even if they differ only in lone surrogates', () => {
    fc.assert(
      fc.property(person, person, (one, other) => {
        const same = one.sub === other.sub && one.iss === other.iss && one.tenant_id === other.tenant_id;
        const [a, b] = [Buffer.from(personKey(one)), Buffer.from(personKey(other))];
        expect(a.equals(b)).toBe(same);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the same whether a part is absent or empty', () => {
    expect(personKey({ sub: 'u' })).toBe(personKey({ sub: 'u', iss: '', tenant_id: '' }));
    expect(personKey({ sub: 'u', iss: 'i' })).not.toBe(personKey({ sub: 'u', tenant_id: 'i' }));
  });
});
