import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { IncomingMessage, JsonObject, OutgoingReply } from '../../../src/channel/index.ts';
import { command as inboxShow } from '../../../src/cli/commands/inbox-show.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import { enqueue } from '../../../src/daemon/inbox/enqueue.ts';
import { notify, Throttle } from '../../../src/daemon/inbox/notify.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { InboxState } from '../../../src/daemon/store/inbox/inbox.ts';
import { TELEX } from '../../support/later-services.ts';
import { testServices } from '../../support/services.ts';
import { capturedOutput, exitCodeOf } from '../cli/captured-output.ts';
import { stubSettings } from '../cli/stub-settings.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const ALL: readonly InboxState[] = ['waiting', 'running', 'replied', 'done', 'failed'];
const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const SECRET = 'callback-secret-8d1f';
const REPLY_TO: JsonObject = { room: 'c1', private: { callback: `https://telex.example/${SECRET}` } };

let directory: string;
let services: Services;
let worker: InboxWorker;
let sent: OutgoingReply[];
let typed: JsonObject[];

beforeEach(async () => {
  directory = stateDirectory();
  const store = openAt(join(directory, 'agentd.db'));
  const agent: AgentRuntime = {
    apiVersion: 1,
    async *run() {
      yield 'Hi.';
    },
  };
  ({ services } = await testServices({ store, sealKey: keyOf(1), agent }));
  worker = new InboxWorker(services);
  onTestFinished(() => worker.stop());
  sent = [];
  typed = [];
});

/** Starts to process messages, and resolves when this many replies were sent. */
async function work(replies: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.add(TELEX, {
    routes: [],
    async send(reply) {
      sent.push(reply);
      if (sent.length === replies) resolve();
    },
    async typing(reply_to) {
      typed.push(reply_to);
    },
  });
  await worker.start();
  await promise;
  await worker.idle();
}

const MESSAGE: IncomingMessage = {
  platform: 'telex',
  user_id: 'u1',
  channel_id: 'c1',
  thread_id: 'telex:c1',
  text: 'hello',
  metadata: {},
  reply_to: REPLY_TO,
};
const stored = async () => (await services.store.inbox.list({ states: ALL, limit: 100 })).reverse();
const notifier = () => ({
  plugin: TELEX,
  services,
  worker,
  throttle: new Throttle(() => services.clock.now()),
});

describe('the private member of `reply_to`', () => {
  it('is sealed for its message in the store, and open for `send` and `typing`', async () => {
    await enqueue(TELEX, services, worker, [MESSAGE]);
    await notify(notifier(), REPLY_TO, 'A hint.');
    const [message, notice] = await stored();
    for (const one of [message, notice]) {
      expect(one?.reply_to).toEqual({ room: 'c1', private: expect.stringMatching(/^sealed\.v1\./) });
    }
    expect(message?.reply_to.private).not.toBe(notice?.reply_to.private);
    await work(2);
    expect(sent.map(({ reply_to }) => reply_to)).toEqual([REPLY_TO, REPLY_TO]);
    expect(typed.length).toBeGreaterThan(0);
    for (const reply_to of typed) expect(reply_to).toEqual(REPLY_TO);
    for (const file of readdirSync(directory))
      expect(readFileSync(join(directory, file), 'latin1')).not.toContain(SECRET);
  });

  it('is sealed in the notice that the loop guard has blocked a session', async () => {
    const { settings } = services;
    services = {
      ...services,
      settings: { ...settings, LOOP_GUARD_ENABLED: true, LOOP_GUARD_MAX_TURNS_PER_SESSION: 1 },
    };
    for (const text of ['one', 'two'])
      await enqueue(TELEX, services, worker, [{ ...MESSAGE, text, message_id: text }]);
    const notices = (await stored()).filter(({ session_id }) => session_id === null);
    expect(notices).toMatchObject([{ reply_to: { private: expect.stringMatching(/^sealed\.v1\./) } }]);
    await work(2);
    expect(sent.map(({ reply_to }) => reply_to)).toEqual([REPLY_TO, REPLY_TO]);
  });

  it('does not separate texts to one place: they keep their order', async () => {
    await notify(notifier(), { room: 'c1', private: 'a' }, 'one');
    await notify(notifier(), { room: 'c1', private: 'b' }, 'two');
    await notify(notifier(), { room: 'c2', private: 'a' }, 'three');
    const [one, two, three] = (await stored()).map(({ queue }) => queue);
    expect(two).toBe(one);
    expect(three).not.toBe(one);
  });

  it('fails the message for good if no key opens it, without a call to the platform', async () => {
    await enqueue(TELEX, services, worker, [MESSAGE]);
    services = { ...services, seal: createSeal(new Secret(keyOf(2))) };
    worker = new InboxWorker(services);
    await notify(notifier(), { room: 'c1' }, 'An open text.');
    await work(1);
    const [message] = await stored();
    expect(sent.map(({ text }) => text)).toEqual(['An open text.']);
    expect(message).toMatchObject({
      state: 'failed',
      failure: 'delivery_failed: no encryption key opens the private part of reply_to',
    });
    expect(typed).toEqual([]);
  });

  it('cannot be used with another message', async () => {
    await enqueue(TELEX, services, worker, [MESSAGE]);
    const [first] = await stored();
    await services.store.inbox.enqueue([
      {
        ...(first as NonNullable<typeof first>),
        id: 'another',
        queue: 'telex/x',
        session_id: null,
        message: null,
        reply: 'Hi.',
      },
    ]);
    await work(1);
    expect((await stored()).find(({ id }) => id === 'another')).toMatchObject({ state: 'failed' });
  });

  it('is not shown by `agentd inbox show`, even if nothing seals it', async () => {
    services = { ...services, seal: createSeal(undefined) };
    await enqueue(TELEX, services, worker, [MESSAGE]);
    const [message] = await stored();
    stubSettings({
      STATE_DIR: directory,
      SESSION_BACKEND: 'sqlite',
      TRACE_RETENTION_DAYS: 7,
      INBOX_SEND_SECONDS: 60,
      INBOX_RUN_SECONDS: 60,
      INBOX_MAX_ATTEMPTS: 2,
    });
    const { out, stdout } = capturedOutput({ json: true });
    expect(await exitCodeOf(inboxShow, { args: [message?.id ?? ''], options: { json: true }, out })).toBe(0);
    expect(JSON.parse(stdout.text).reply_to).toEqual({ room: 'c1', private: '[secret]' });
    expect(stdout.text).not.toContain(SECRET);
  });
});
