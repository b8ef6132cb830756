import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskTokens, Secret, StreamMask } from '../../../src/daemon/settings/secret.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl';

const part = (json: string) => Buffer.from(json).toString('base64url');
const PAYLOAD = '{"sub":"ada","email":"ada@example.com"}';
const SPACED = `${part('{ "alg":"HS256" }')}.${part(PAYLOAD)}.c2lnbmF0dXJl`;

describe('a secret', () => {
  it('is not visible in text, JSON or inspected objects, and its hint shows only a part of it', () => {
    const secret = new Secret(TOKEN);
    expect(
      [`${secret}`, JSON.stringify({ secret }), inspect(secret), String(secret)].join('\n'),
    ).not.toContain('eyJ');
    expect(secret.reveal()).toBe(TOKEN);
    expect(secret.hint()).toMatch(/^eyJhbGci… sha256:[0-9a-f]{8}$/);
  });
});

describe('the mask for tokens', () => {
  it('hides complete and truncated tokens, and nothing else', () => {
    expect(maskTokens(`Bearer ${TOKEN}, and`)).toBe('Bearer [token], and');
    expect(maskTokens(TOKEN.slice(0, 30))).toBe('[token]');
    expect(maskTokens('eyes, an e-mail, eyJ')).toBe('eyes, an e-mail, eyJ');
  });

  it.each([
    ['after an ellipsis', '...TOKEN', '...[token]'],
    ['after an encoded space', '/page?auth=Bearer%20TOKEN', '/page?auth=Bearer%20[token]'],
    ['after an encoded equals sign', '/login?to=%2Fcb%3Ftoken%3DTOKEN', '/login?to=%2Fcb%3Ftoken%3D[token]'],
    ['after an underscore', 'token_TOKEN', 'token_[token]'],
    ['twice', 'TOKEN TOKEN', '[token] [token]'],
    ['twice without a break', 'TOKEN.TOKEN', '[token].[token]'],
  ])('hides a token completely: %s', (_, text, masked) => {
    expect(maskTokens(text.replaceAll('TOKEN', TOKEN))).toBe(masked);
  });

  it.each([
    '{ "alg": "HS256" }',
    '{\n  "alg": "HS256"\n}',
    '{\r\n  "alg": "HS256"\r\n}',
    '{\t"alg": "HS256"}',
  ])('hides a token whose JSON contains white space: %j', (header) => {
    for (const payload of [PAYLOAD, PAYLOAD.replace('{', '{ ')]) {
      expect(maskTokens(`it is ${part(header)}.${part(payload)}.c2lnbmF0dXJl!`)).toBe('it is [token]!');
    }
  });

  it.each([
    ['dots that are percent-encoded', (token: string) => token.replaceAll('.', '%2E')],
    ['dots that are percent-encoded twice', (token: string) => token.replaceAll('.', '%252e')],
    ['dots at the ends of lines', (token: string) => token.replaceAll('.', '.\n')],
    ['dots at the beginnings of lines', (token: string) => token.replaceAll('.', '\r\n  .')],
    ['invisible characters', (token: string) => token.replaceAll('.', '\u200b.\u200b')],
    ['character references', (token: string) => token.replaceAll('.', '&#46;')],
    ['escapes of JSON', (token: string) => token.replaceAll('.', '\\u002e')],
    ['base64', (token: string) => Buffer.from(token).toString('base64')],
    ['base64url', (token: string) => Buffer.from(token).toString('base64url')],
    ['base64 after one character', (token: string) => Buffer.from(`:${token}`).toString('base64')],
    ['base64 after two characters', (token: string) => Buffer.from(`x:${token}`).toString('base64')],
    ['percent-encoding', (token: string) => Buffer.from(token).toString('hex').replace(/../g, '%$&')],
  ])('hides a token in %s', (_, encode) => {
    const masked = maskTokens(`see ${encode(TOKEN)}, and more`);
    expect(masked).toMatch(/^see \[token\](?:==?)?, and more$/);
  });

  it.each([
    ['the second dot at the end of a line', '.', '.\n'],
    ['the second dot at the beginning of a line', '.', '\n  .'],
    ['the first dot at the end of a line', '.\n', '.'],
    ['the first dot at the beginning of a line', '\n.', '.'],
  ])('hides a token with only %s', (_, first, second) => {
    const [header, payload, signature] = TOKEN.split('.');
    expect(maskTokens(`see ${header}${first}${payload}${second}${signature}, and more`)).toBe(
      'see [token], and more',
    );
  });

  it.each([
    ['a line break', '\n'],
    ['a quote', '"'],
    ['a backslash', '\\'],
    ['a backslash and a letter', '\\n'],
    ['a control character', '\u0001'],
    ['half of a surrogate pair', '\ud800'],
  ])('leaves JSON with a token after %s as JSON', (_, before) => {
    for (const token of [
      TOKEN,
      Buffer.from(TOKEN).toString('base64url'),
      Buffer.from(TOKEN).toString('hex').replace(/../g, '%$&'),
    ])
      expect(JSON.parse(maskTokens(JSON.stringify({ text: before + token })))).toEqual({
        text: `${before}[token]`,
      });
  });

  it('does not change ordinary words', () => {
    const text =
      'eyJ is how a token begins. See ewok.example.com/a.b and eyA.txt, they.are.fine. My eyJdrops.  Are new.';
    expect(maskTokens(text)).toBe(text);
    const data = Buffer.from('{"title":"Update the key of V5S and leU, and so on, and so on"}').toString(
      'base64',
    );
    expect(maskTokens(data)).toBe(data);
  });

  it.each([
    ['eyJ'.repeat(50_000)],
    ['eyJaaaaaaa%2E'.repeat(10_000)],
    [`eyJaaaaaaaa${' '.repeat(150_000)}x`],
    ['eyJaaaaaaaa '.repeat(12_000)],
    ['ZXlK'.repeat(40_000)],
    [`ZXlK${'%'.repeat(150_000)}`],
  ])('takes a time that grows only with the length of the text: %#', (text) => {
    expect(cpuTime(() => maskTokens(text))).toBeLessThan(1000);
  });

  it.each([
    ['words', ', few'],
    ['a token', ` ${TOKEN}`],
    ['a part of a token', ` ${TOKEN.slice(0, 30)}`],
  ])(
    'hides a token that arrives in pieces, wherever the pieces begin, if the text ends with %s',
    (_, end) => {
      const text = `Hello. Every e-mail is read. ${TOKEN} is yours, ey. ?a=%20${TOKEN}.${SPACED}…${SPACED}${end}`;
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 12 }), (places) => {
          const cuts = [0, ...places.sort((a, b) => a - b), text.length];
          const mask = new StreamMask();
          const shown = cuts.slice(1).map((to, index) => mask.push(text.slice(cuts[index], to)));
          expect([...shown, mask.end()].join('')).toBe(maskTokens(text));
        }),
      );
    },
  );

  it('buffers only a limited amount of text', () => {
    const mask = new StreamMask();
    const shown = mask.push(`eyJ${'a'.repeat(20_000)}`) + mask.push('b') + mask.end();
    expect(shown.length).toBeGreaterThan(20_000);
  });
});
