import { expect, it } from 'vitest';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { composeAnswer } from '../../../src/daemon/tools/answer.ts';
import type { CallClient } from '../../../src/daemon/tools/call-client.ts';
import type { Sent } from '../../../src/daemon/tools/tool.ts';
import { sourceOf, toolOf } from '../../support/tools.ts';

const SECRET = 'opaque-secret-of-a-person';

/** What the agent gets if a source sent this. */
function told(sent: Sent, usedDefault = false): string {
  const source = sourceOf({}, 'https://api.example.com');
  const credentials = usedDefault ? 'default' : 'user';
  const opened = { ...{ secrets: [new Secret(SECRET)], usedDefault, client: { credentials } } };
  return JSON.stringify(composeAnswer(toolOf({ source }), sent, opened as unknown as CallClient).answer);
}

it.each([200, 404])(
  'a secret is masked before a long text is cut, so that no part of it is left: %s',
  (status) => {
    const max = status === 200 ? 4000 : 1000;
    const result = `${'x'.repeat(max - 10)}${SECRET}${'x'.repeat(20_000)}`;
    expect(told({ outcome: 'answered', status, result })).not.toContain('opaque');
  },
);

it('what a server needs is told in its words only to the person', () => {
  const needs = [{ message: 'The account of Ada is locked.', url: null }];
  const sent: Sent = { outcome: 'input_required', needs };
  expect(told(sent)).toContain('Ada');
  expect(told(sent, true)).not.toContain('Ada');
});

const NESTED = JSON.parse(`${'['.repeat(30)}${']'.repeat(30)}`);
it.each<[string, unknown]>([
  ['a long list', Array.from({ length: 3000 }, (_, id) => id)],
  ['a long text', 'x'.repeat(16_000)],
  [
    'an object with many members',
    Object.fromEntries(Array.from({ length: 900 }, (_, id) => [`id${id}`, id])),
  ],
  ['a long name', { ['n'.repeat(300)]: 1 }],
  ['a deep one', NESTED],
])('a result of at most 16 KiB is told whole: %s', (_, result) => {
  expect(told({ outcome: 'answered', status: 200, result })).toBe(JSON.stringify({ ok: true, result }));
});

it.each<[string, unknown, string]>([
  ['entries', Array.from({ length: 9000 }, (_, id) => id), '"[… 8800 more]"'],
  ['characters', { text: 'x'.repeat(20_000) }, '[… 16000 more characters]'],
  [
    'members',
    Object.fromEntries(Array.from({ length: 10_000 }, (_, id) => [`field ${id}`, 'x'.repeat(100)])),
    'more',
  ],
  ['levels', JSON.parse(`${'[[[[['.repeat(200)}"x"${']]]]]'.repeat(200)}`), '…'],
])('a result of more than 16 KiB is cut, and says how much was left out: %s', (_, result, mark) => {
  const text = told({ outcome: 'answered', status: 200, result });
  expect(text).toContain(mark);
  expect(text.length).toBeLessThan(16_384);
});
