import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GUARD_LIMITS } from '../../../contract/fixtures.ts';
import { anArrival } from '../an-arrival.ts';
import { openAt, stateDirectory } from '../state-directory.ts';
import { commitsIn } from '../wal-commits.ts';

function fixture() {
  const path = join(stateDirectory(), 'agentd.db');
  return { store: openAt(path), path, arrival: anArrival({ message_id: 'm1' }) };
}

it('screen writes the verdict and the row of the inbox in one commit, together with simultaneous writes', async () => {
  const { store, path, arrival } = fixture();
  const before = commitsIn(path);
  const [{ outcomes }] = await Promise.all([store.inbox.screen([arrival], GUARD_LIMITS), store.check()]);
  expect(outcomes).toEqual(['kept']);
  expect(commitsIn(path)).toBe(before + 1);
});

it('screen stores neither the verdict nor the row if one of them cannot be written', async () => {
  const { store, arrival } = fixture();
  const { message } = arrival;
  const unwritable = { ...message, reply_to: { number: 1n } as never };
  const screened = store.inbox.screen([{ ...arrival, message: unwritable }], GUARD_LIMITS);
  await expect(screened).rejects.toThrow('BigInt');
  expect(await store.inbox.find(message.id)).toBeNull();
  expect(await store.inbox.screen([arrival], GUARD_LIMITS)).toMatchObject({
    verdicts: [{ allowed: true, repeated: false, messages: 1, turns: 1 }],
    outcomes: ['kept'],
  });
});
