import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../src/channel/index.ts';
import { enqueue } from '../../../src/daemon/inbox/enqueue.ts';
import { type Notifier, notify, Throttle } from '../../../src/daemon/inbox/notify.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import type { InboxMessage, InboxState } from '../../../src/daemon/store/inbox/inbox.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const OPEN: readonly InboxState[] = ['waiting', 'running', 'replied'];

let services: Services;
let worker: InboxWorker;
let notifier: Notifier;

beforeEach(async () => {
  ({ services } = await laterServices(openAt(join(stateDirectory(), 'agentd.db')), systemClock));
  // The worker is not started, so that stored texts stay in the inbox for the test.
  worker = new InboxWorker(services);
  notifier = { plugin: TELEX, services, worker, throttle: new Throttle(() => services.clock.now()) };
});

const MESSAGE: IncomingMessage = {
  platform: 'telex',
  user_id: 'u1',
  channel_id: 'c1',
  thread_id: 'telex:c1',
  text: 'hello',
  metadata: {},
};

async function kept(): Promise<InboxMessage[]> {
  return (await services.store.inbox.list({ states: OPEN, limit: 100 })).reverse();
}

describe('notify', () => {
  it('stores a text that is sent without a run of the agent, in the queue of its chat, with tokens masked', async () => {
    const secret = await token();
    await notify(notifier, { to: 'c1' }, ` linked ${secret}`);
    await notify(notifier, { to: 'c1' }, 'again');
    await notify(notifier, { to: 'c2' }, 'there');
    const [first, second, third] = await kept();
    expect(first).toMatchObject({
      session_id: null,
      message: null,
      state: 'replied',
      reply: 'linked [token]',
      reply_to: { to: 'c1' },
    });
    expect(first?.queue).toMatch(/^telex\//);
    expect(second?.queue).toBe(first?.queue);
    expect(third?.queue).not.toBe(first?.queue);
  });

  it('sends a text to its chat, although the channel uses the address for the next text meanwhile', async () => {
    const reply_to = { to: 'c1' };
    const first = notify(notifier, reply_to, 'for one', { user_id: 'u1' });
    reply_to.to = 'c2';
    await Promise.all([first, notify(notifier, reply_to, 'for two', { user_id: 'u2' })]);
    expect(await kept()).toMatchObject([
      { reply: 'for one', reply_to: { to: 'c1' } },
      { reply: 'for two', reply_to: { to: 'c2' } },
    ]);
  });

  it('stores only one text for a repeated message, and none for a message that is already in the inbox', async () => {
    const answering = (message_id: string, text: string) =>
      notify(notifier, { to: 'c1' }, text, { message_id });
    await answering('m1', 'first');
    await answering('m1', 'again');
    await enqueue(TELEX, services, worker, [{ ...MESSAGE, message_id: 'm2' }]);
    await answering('m2', 'again');
    await answering('m3', 'another');
    expect((await kept()).map(({ reply, message_id }) => [reply, message_id])).toEqual([
      ['first', 'm1'],
      [null, 'm2'],
      ['another', 'm3'],
    ]);
    await expect(answering('m\u0007', 'text')).rejects.toMatchObject({
      message: 'A text cannot be sent: message_id must not contain control characters.',
    });
  });

  it('refuses a text that cannot be sent', async () => {
    await expect(notify(notifier, {}, ' ')).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'A text cannot be sent: text must not be empty.',
    });
  });

  it('drops a hint if its reader received the same hint a moment ago, but never drops other texts', async () => {
    const to = { to: 'c1' };
    await notify(notifier, to, 'I read words only.', { message_id: 'm1', throttle_key: 'u1' });
    await notify(notifier, to, 'I read words only.', { message_id: 'm2', throttle_key: 'u1' });
    await notify(notifier, to, 'I read words only.', { message_id: 'm3', throttle_key: 'u2' });
    await notify(notifier, to, 'You are signed in.', { message_id: 'm4' });
    await notify(notifier, to, 'You are signed in.', { message_id: 'm5' });
    expect((await kept()).map(({ message_id }) => message_id)).toEqual(['m1', 'm3', 'm4', 'm5']);
  });

  it('drops hints for a user while the loop guard blocks the user, but never other texts', async () => {
    const withGuard = (LOOP_GUARD_ENABLED: boolean) => {
      const settings = { ...services.settings, LOOP_GUARD_ENABLED };
      return { ...notifier, services: { ...services, settings } };
    };
    const on = withGuard(true);
    const copies = Array.from({ length: 3 }, (_, n) => ({ ...MESSAGE, message_id: `copy ${n}` }));
    await enqueue(TELEX, on.services, worker, copies);
    const to = { to: 'c1' };
    const hint = { throttle_key: 'c1' };
    await notify(on, to, 'I read words only.', { message_id: 'm1', user_id: 'u1', ...hint });
    await notify(on, to, 'Words only, please.', { message_id: 'm2', user_id: 'u2', ...hint });
    await notify(on, to, 'You are signed in.', { message_id: 'm3', user_id: 'u1' });
    await notify(withGuard(false), to, 'I read words only.', { message_id: 'm4', user_id: 'u1', ...hint });
    const texts = (await kept()).filter(({ message }) => message === null);
    expect(texts.map(({ message_id }) => message_id)).toEqual(['m2', 'm3', 'm4']);
  });

  it('does not count a hint for its reader if the message has already been answered', async () => {
    const to = { to: 'c1' };
    await notify(notifier, to, 'Hello!', { message_id: 'm1' });
    await notify(notifier, to, 'Hello!', { message_id: 'm1', throttle_key: 'u1' });
    await notify(notifier, to, 'Hello!', { message_id: 'm2', throttle_key: 'u1' });
    expect((await kept()).map(({ message_id }) => message_id)).toEqual(['m1', 'm2']);
  });
});
