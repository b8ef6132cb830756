import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storedDocuments } from '../../../support/stored-documents.ts';
import { anArrival } from '../an-arrival.ts';
import { fastStateDirectory, openAt } from '../state-directory.ts';

it('a message costs the same however many messages of its conversation wait', async () => {
  const path = join(fastStateDirectory(), 'agentd.db');
  const store = openAt(path);
  const arrive = async (count: number) => {
    const messages = Array.from({ length: count }, () => anArrival().message);
    await store.inbox.enqueue(messages.map((message) => ({ ...message, queue: 'one' })));
    const queues = await storedDocuments(path, { name: 'inbox_queue', expires: () => null });
    return queues.map(({ doc }) => JSON.stringify(doc).length);
  };
  const [short = 0] = await arrive(1);
  expect(await arrive(500)).toEqual([expect.closeTo(short, -1)]);
});
