import { describe, expect, it } from 'vitest';
import webchat from '../../../plugins/webchat/index.ts';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { ConversationEvent } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { converse } from '../../../src/daemon/message/converse.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { testServices } from '../../support/services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const AGENT: AgentRuntime = {
  apiVersion: 1,
  async *run({ text }) {
    yield `re: ${text}`;
  },
};

/** @returns the last event. */
async function say(
  services: Services,
  text: string,
  message_id: string,
  request_id = 'request-0',
): Promise<ConversationEvent | null> {
  const sender = { platform: 'webchat', user_id: 'visitor', channel_id: 'visitor', thread_id: 'room' };
  const origin = { request_id, address: '192.0.2.1', validated: null, ticket: null };
  let last: ConversationEvent | null = null;
  for await (const event of converse(
    webchat,
    services,
    { ...sender, text, metadata: {}, message_id },
    origin,
  ))
    last = event;
  return last;
}

/**
 * A session with one turn. The next commit of its store fails with an error. If `isCarriedOut`, the commit takes effect
 * before it fails.
 */
async function sessionWith({ isCarriedOut }: { isCarriedOut: boolean }) {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = openMemoryStore(new MemoryState(), { clock });
  let commits = 0;
  const commitTurn: Store['commitTurn'] = async (...given) => {
    commits++;
    if (commits !== 2) return store.commitTurn(...given);
    if (isCarriedOut) await store.commitTurn(...given);
    throw new StoreUnavailable(new Error('connection reset'));
  };
  const { services } = await testServices({ store: { ...store, commitTurn }, clock, agent: AGENT });
  await say(services, 'hi', 'key-0');
  return { say: (request_id: string) => say(services, 'hello', 'key-1', request_id), store };
}

const replies = async ({ sessions }: Store) =>
  (await sessions.turns('room')).map(({ text, reply }) => `${text} → ${reply}`);

describe('after a commit whose outcome is unknown, the daemon', () => {
  it('tells the sender at once, who has already waited for the store', async () => {
    const { say: repeat, store } = await sessionWith({ isCarriedOut: false });
    store.traces.keepRefused = () => new Promise(() => undefined);
    await expect(repeat('request-1')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('does not store a failed turn, because the answered turn may already be stored', async () => {
    const { say: repeat, store } = await sessionWith({ isCarriedOut: true });
    await expect(repeat('request-1')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await replies(store)).toEqual(['hi → re: hi', 'hello → re: hello']);
  });

  it('returns the stored answer if the client repeats the message', async () => {
    const { say: repeat } = await sessionWith({ isCarriedOut: true });
    await expect(repeat('request-1')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await repeat('request-2')).toMatchObject({ response: 're: hello', replayed: true });
  });

  it('runs the message again if the client repeats it and nothing was stored', async () => {
    const { say: repeat, store } = await sessionWith({ isCarriedOut: false });
    await expect(repeat('request-1')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await repeat('request-2')).toMatchObject({ response: 're: hello', replayed: false });
    expect(await replies(store)).toEqual(['hi → re: hi', 'hello → re: hello']);
  });
});
