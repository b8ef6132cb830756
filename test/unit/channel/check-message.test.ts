import { expect, test } from 'vitest';
import { checkMessage } from '../../../src/channel/check-message.ts';
import type { IncomingMessage } from '../../../src/channel/index.ts';

const MESSAGE: IncomingMessage = {
  platform: 'telex',
  user_id: 'ada',
  channel_id: 'ada',
  thread_id: 'telex:ada',
  text: 'Hello',
  metadata: {},
};

const errors = (groups: boolean | undefined, shared: boolean | undefined) =>
  checkMessage(
    { ...MESSAGE, ...(shared === undefined ? {} : { shared }) },
    { name: 'telex', delivery: 'push', capabilities: { ...(groups === undefined ? {} : { groups }) } },
    'messages[0]',
  );

test('a shared message is refused only if the channel does not support groups', () => {
  expect(errors(false, true)).toEqual([
    { field: 'messages[0].shared', message: 'must not be true: capabilities.groups is false' },
  ]);
  for (const groups of [true, undefined]) expect(errors(groups, true)).toEqual([]);
  for (const shared of [false, undefined]) expect(errors(false, shared)).toEqual([]);
});
