import { expect, test } from 'vitest';
import { shownHeaders } from '../../../../src/daemon/tools/downstream/headers.ts';

test('only headers about pages and rates are shown, at most 16, and each without control characters', () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x-ratelimit-${index}`, '1']));
  expect(Object.keys(shownHeaders(many, (text) => text) ?? {})).toHaveLength(16);
  expect(
    shownHeaders(
      {
        'content-type': 'application/json',
        'set-cookie': ['session=1'],
        'x-ratelimited-by': 'x',
        'x-rate-limit-reset': '5',
        ratelimit: '"default";r=50',
        link: 'a\u0085b',
      },
      (text) => text,
    ),
  ).toEqual({ 'x-rate-limit-reset': '5', ratelimit: '"default";r=50', link: 'a b' });
  expect(shownHeaders({ server: 'x' }, (text) => text)).toBeUndefined();
});
