import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ChannelRequest, IncomingMessage } from '../../../src/channel/index.ts';
import { edit, enqueue } from '../../../src/daemon/inbox/enqueue.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { NO_OBSERVER, type Observer } from '../../../src/daemon/trace/observer.ts';
import type { BegunMessage } from '../../../src/daemon/trace/span.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

// agentd-telemetry(7), "Parents".

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const MESSAGE: IncomingMessage = {
  platform: 'telex',
  user_id: 'u1',
  channel_id: 'c1',
  thread_id: 'telex:c1',
  message_id: 'm1',
  text: 'hello',
  metadata: {},
};

async function processOn(database: string, observer: Observer) {
  const { services } = await laterServices(openAt(database), systemClock);
  Object.assign(services, { observer });
  const worker = new InboxWorker(services);
  return { services, worker };
}

it('a message keeps its parent span until it runs, even in another process and after an edit', async () => {
  const database = join(stateDirectory(), 'agentd.db');
  const first = await processOn(database, {
    ...NO_OBSERVER,
    readParent: (traceparent) => (traceparent === undefined ? null : `taken ${traceparent}`),
  });
  const request = { id: 'r1', headers: { traceparent: PARENT } } as unknown as ChannelRequest;
  await enqueue(TELEX, first.services, first.worker, [MESSAGE], request);
  const { user_id, thread_id } = MESSAGE;
  const edited = { message_id: 'm1', user_id, thread_id: thread_id ?? '', text: 'hello again' };
  expect(await edit(TELEX, first.services, edited)).toBe(true);
  await first.worker.stop();
  await first.services.store.close();

  const { promise: begun, resolve } = Promise.withResolvers<BegunMessage>();
  const texts: unknown[] = [];
  const second = await processOn(database, {
    ...NO_OBSERVER,
    messageBegan(message) {
      resolve(message);
      return null;
    },
  });
  second.services.agent.run = async function* (turn) {
    texts.push(turn.text);
    yield 'hello';
  };
  second.worker.add(TELEX, TELEX.create({} as never));
  await second.worker.start();
  expect(await begun).toMatchObject({
    channel: 'telex',
    parent: `taken ${PARENT}`,
    is_later: true,
    is_authenticated: true,
    began_at: null,
  });
  await second.worker.idle();
  await second.worker.stop();
  expect(texts).toEqual(['hello again']);
});

it('a message without a parent span is stored without this field', async () => {
  const { services, worker } = await processOn(join(stateDirectory(), 'agentd.db'), NO_OBSERVER);
  await enqueue(TELEX, services, worker, [MESSAGE]);
  const [stored] = await services.store.inbox.list({ states: ['waiting'], limit: 1 });
  expect(stored?.message).not.toHaveProperty('parent_span');
  await worker.stop();
});
