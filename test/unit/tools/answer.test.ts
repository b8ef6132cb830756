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
    const result = `${'x'.repeat(max - 10)}${SECRET}`;
    expect(told({ outcome: 'answered', status, result })).not.toContain('opaque');
  },
);

it('what a server needs is told in its words only to the person', () => {
  const needs = [{ message: 'The account of Ada is locked.', url: null }];
  const sent: Sent = { outcome: 'input_required', needs };
  expect(told(sent)).toContain('Ada');
  expect(told(sent, true)).not.toContain('Ada');
});
