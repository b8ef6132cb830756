import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { type ReadOptions, read, start } from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';

let dictation: Dictation;
let daemon: Agentd;

beforeAll(async () => {
  dictation = await Dictation.start();
  const env = { SSE_ENABLED: 'true', SSE_MAX_READERS_PER_CLIENT: '3', TRUST_PROXY: '1' };
  daemon = await startAgentd({ env: { ...dictation.env, ...env } });
});

afterAll(async () => {
  await daemon.stop();
  await dictation.close();
});

const from = (address: string): ReadOptions => ({ headers: { 'X-Forwarded-For': address } });

it('a fourth anonymous reader at one address gets 429 and starts no run; the other readers continue to read', async () => {
  const stream_id = await start(daemon.url, { user_id: 'ada', message: 'a long answer' });
  const readers = [1, 2, 3].map(() => read(daemon.url, stream_id, from('192.0.2.1')));
  await Promise.all(readers.map((reader) => reader.holds('stream_start')));

  const unopened = await start(daemon.url, { user_id: 'ada', message: 'not yet' });
  const refused = await read(daemon.url, unopened, from('192.0.2.1')).ended;
  expect(refused.status).toBe(429);
  expect(refused.head).toMatch(/^retry-after: 10$/im);
  expect(refused.head).toMatch(/^content-type: application\/problem\+json$/im);
  expect(JSON.parse(refused.text)).toMatchObject({
    code: 'too_many_readers',
    detail: 'Your address has 3 open streams already.',
  });

  // Other readers at the address do not keep out a person who is signed in, and do not affect another address.
  const ada = read(daemon.url, stream_id, {
    ...from('192.0.2.1'),
    query: `token=${await token({ sub: 'ada' })}`,
  });
  const elsewhere = read(daemon.url, stream_id, from('192.0.2.2'));
  await Promise.all([ada.holds('stream_start'), elsewhere.holds('stream_start')]);
  expect((await read(daemon.url, stream_id, { ...from('192.0.2.1'), method: 'HEAD' }).ended).status).toBe(
    200,
  );
  expect(dictation.runs).toEqual(['a long answer']);

  // Readers that have read to the end free their slots.
  dictation.end('a long answer');
  await Promise.all([...readers, ada, elsewhere].map(({ ended }) => ended));
  const now = read(daemon.url, unopened, from('192.0.2.1'));
  await now.holds('stream_start');
  dictation.end('not yet');
  await now.ended;
});
