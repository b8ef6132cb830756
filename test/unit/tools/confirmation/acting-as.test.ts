import { describe, expect, it } from 'vitest';
import type { Principal } from '../../../../src/daemon/identity/identity.ts';
import { Texts } from '../../../../src/daemon/texts/texts.ts';
import { actingAs, asInWords } from '../../../../src/daemon/tools/confirmation/question.ts';

const texts = new Texts().in();
const principal = (email: string) => ({ person: 'p', claims: { sub: 'ada', email } }) as unknown as Principal;
const NOBODY = { person: null, reason: 'no_token' } as Principal;
const ADA = principal('ada@example.com');

describe('for whom an action would be done', () => {
  it.each([
    [ADA, false, 'ada@example.com', 'I’ll do this as you, ada@example.com.'],
    [ADA, true, null, 'I’ll do this as you.'],
    [NOBODY, false, null, ''],
    [NOBODY, true, null, ''],
  ])('is said by e-mail address, but not in a shared thread (%#)', (of, shared, email, words) => {
    expect([actingAs(of, shared), asInWords(of, shared, texts)]).toEqual([email, words]);
  });

  it('hides nothing, and is no markup', () => {
    const tricky = principal('*ada*\u202e@ex\u0430mple.com');
    expect(actingAs(tricky, false)).toBe('*ada*\\u202e@xn--exmple-4nf.com');
    expect(asInWords(tricky, false, texts)).toBe(
      'I’ll do this as you, \\*ada\\*\\\\u202e@xn--exmple-4nf.com.',
    );
    expect(asInWords(principal(`${'a'.repeat(250)}@x.example`), false, texts)).toBe('I’ll do this as you.');
  });
});
