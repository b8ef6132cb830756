import { describe, expect, it } from 'vitest';
import { checkArguments } from '../../../src/daemon/tools/check-arguments.ts';

const checked = (schema: Record<string, unknown>, text: string) =>
  checkArguments({ type: 'object', properties: { text: { type: 'string', ...schema } } }, { text });

describe('patterns of a schema', () => {
  it.each([
    ['^[a-z]+$', 'abc', 'A'],
    ['^[a-z0-9]+(?:-[a-z0-9]+)*$', 'a-slug-1', 'a--'],
    ['^(\\d{4})-(\\d{2})$', '2026-11', '26-11'],
    ['^\\p{L}+ ?\\p{L}+$', 'Ärö Öl', '1'],
  ])('such as %s are compared with the value', (pattern, fits, differs) => {
    expect(checked({ pattern }, fits)).toMatchObject({ ok: true });
    expect(checked({ pattern }, differs)).toMatchObject({ ok: false });
  });

  it.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^(?:a?){40}a{40}$', '^(a*)*b$', '(.*a){20}'])(
    'such as %s cannot block the daemon',
    (pattern) => {
      const began = performance.now();
      checked({ pattern }, `${'a'.repeat(35)}!`);
      expect(performance.now() - began).toBeLessThan(1_000);
    },
  );

  it.each(['a+$', '[^b]+$', '^c|a+$', '.*c'])(
    'such as %s, which can begin anywhere in the text, cannot block the daemon either',
    (pattern) => {
      expect(checked({ pattern }, `${'a'.repeat(100_000)}b`)).toEqual({
        ok: false,
        message: 'An argument takes too long to check.',
      });
    },
  );

  it('that take too long to compare cause the arguments to be refused', () => {
    expect(checked({ pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`)).toEqual({
      ok: false,
      message: 'An argument takes too long to check.',
    });
  });

  it('for the names of properties are limited in time, too', () => {
    const schema = { type: 'object', patternProperties: { '^(a+)+$': {} }, additionalProperties: false };
    expect(checkArguments(schema, { [`${'a'.repeat(40)}!`]: 1 })).toMatchObject({ ok: false });
  });
});
