import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guardUser } from '../../../src/daemon/message/keys.ts';
import { GUARD_LIMITS } from '../../contract/fixtures.ts';
import { openAt, stateDirectory } from './state-directory.ts';

it('what the guard keeps of a message and a verdict does not change with the objects of its caller', async () => {
  const store = openAt(join(stateDirectory(), 'agentd.db'));
  const user = guardUser({ platform: 'chat', user_id: 'ada', person: null, address: null });
  const message = { user: { ...user }, session_id: 's', text: 'hash', message_id: 'm-1', sent_at: null };
  const verdict = await store.guard.check(message, GUARD_LIMITS);
  message.user.user_id = 'eve';
  Object.assign(verdict, { turns: 99 });
  expect(await store.guard.check({ ...message, user }, GUARD_LIMITS)).toMatchObject({
    repeated: true,
    turns: 1,
  });
  expect(await store.guard.resetUser('chat', 'eve')).toBe(false);
  expect(await store.guard.resetUser('chat', 'ada')).toBe(true);
});
