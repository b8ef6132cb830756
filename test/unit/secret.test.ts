import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskTokens, Secret, StreamMask } from '../../src/daemon/secret.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';

describe('a secret', () => {
  it('prints as [secret] wherever it ends up', () => {
    const secret = new Secret(TOKEN);
    expect(
      [`${secret}`, JSON.stringify({ secret }), inspect(secret), String(secret)].join('\n'),
    ).not.toContain('eyJ');
    expect(secret.reveal()).toBe(TOKEN);
    expect(secret.hint()).toMatch(/^eyJhbGci… sha256:[0-9a-f]{8}$/);
  });
});

describe('the mask', () => {
  it('hides tokens, whole or cut, and nothing else', () => {
    expect(maskTokens(`Bearer ${TOKEN}, and`)).toBe('Bearer [token], and');
    expect(maskTokens(TOKEN.slice(0, 30))).toBe('[token]');
    expect(maskTokens('eyes, an e-mail, eyJ')).toBe('eyes, an e-mail, eyJ');
  });

  it('hides a token that comes in pieces, wherever it is cut', () => {
    const text = `Hello. Every e-mail is read. ${TOKEN} is yours, ey.`;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 12 }), (places) => {
        const cuts = [0, ...places.sort((a, b) => a - b), text.length];
        const mask = new StreamMask();
        const shown = cuts.slice(1).map((to, index) => mask.push(text.slice(cuts[index], to)));
        expect([...shown, mask.end()].join('')).toBe(maskTokens(text));
      }),
    );
  });

  it('does not hold back without bound', () => {
    const mask = new StreamMask();
    const shown = mask.push(`eyJ${'a'.repeat(20_000)}`) + mask.push('b') + mask.end();
    expect(shown.length).toBeGreaterThan(20_000);
  });
});
