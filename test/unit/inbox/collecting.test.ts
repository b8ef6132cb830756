import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { messageTraces } from '../../../src/cli/message-traces.ts';
import { createPushScope } from '../../../src/daemon/channels/scope.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { createCode } from '../../../src/daemon/linking/create-code.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { InboxProcess, type InboxProcessOptions } from '../../support/inbox-process.ts';
import { token } from '../../support/tokens.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

/* agentd-message(7), "Collected messages". */

const USER = '700000001';
const COLLECT = { COLLECT_MS: '1000', COLLECT_MAX_MS: '3000' };

let clock: VirtualClock;
let platform: VirtualPlatform;
let directory: string;
let runs: string[];
let process: InboxProcess;
let number: number;

const agent: AgentRuntime = {
  apiVersion: 1,
  async *run({ text }) {
    runs.push(text);
    yield `re: ${text}`;
  },
};

async function start(own: Partial<InboxProcessOptions> = {}): Promise<InboxProcess> {
  process = await InboxProcess.start({
    directory,
    clock,
    platforms: [platform],
    agent,
    env: COLLECT,
    ...own,
  });
  const started = process;
  onTestFinished(() => started.kill());
  return process;
}

beforeEach(async () => {
  clock = new VirtualClock(Date.UTC(2030, 0, 1));
  platform = await VirtualPlatform.of(msgbot);
  directory = fastStateDirectory();
  runs = [];
  number = 0;
});

function event(text: string, members: Partial<SimulatedEvent> = {}): SimulatedEvent {
  number++;
  return {
    ...{ kind: 'message', user: USER, text, place: 'direct', number, sent_at: clock.now() },
    ...members,
  };
}
const write = (text: string, members?: Partial<SimulatedEvent>) =>
  process.deliver('msgbot', event(text, members));
const answers = () => platform.textsFor(event(''));
const pass = (ms: number) => process.passUntil(clock.now() + ms);
const shownTyping = () => platform.shown.filter(({ what }) => what === 'typing').length;

describe('messages that a person sends in quick succession', () => {
  it('are answered together, as soon as no further one has come for a while', async () => {
    await start();
    await write('where is');
    await pass(600);
    await write('my order');
    await pass(999);
    expect(runs).toEqual([]);
    await pass(1);
    expect([runs, answers()]).toEqual([['where is\nmy order'], ['re: where is\nmy order']]);
  });

  it('are answered one by one if COLLECT_MS is 0', async () => {
    await start({ env: { COLLECT_MS: '0' } });
    await write('a');
    await write('b');
    await process.idle();
    expect(runs).toEqual(['a', 'b']);
  });

  it('show typing from the first message until the answer', async () => {
    await start({ env: { COLLECT_MS: '10000', COLLECT_MAX_MS: '20000' } });
    await write('a');
    expect(shownTyping()).toBe(1);
    for (let at = 0; at < 9000; at += 1000) await pass(1000);
    expect([shownTyping(), runs]).toEqual([2, []]);
  });

  /** @param between sends something that is not collected */
  async function expectSeparated(between: () => Promise<unknown>): Promise<void> {
    await write('before');
    await between();
    await write('after');
    await process.idle();
    expect(runs).toEqual(['before']);
    await pass(1000);
    expect(runs).toEqual(['before', 'after']);
  }

  it.each(['/service_auth off', '/service_auth x', '/service_auth'])(
    'are separated by a command, which is not held up by them: %s',
    async (command) => {
      await start();
      await expectSeparated(() => write(command, { kind: 'command' }));
    },
  );

  it.each(['link', 'unlink'] as const)('are separated by a %s that no command asks for', async (what) => {
    await start();
    const { links } = createPushScope(msgbot, {}, { services: process.services, worker: process.worker });
    const mine = await token();
    await expectSeparated(() => (what === 'link' ? links.link(USER, mine) : links.unlink(USER)));
  });

  it.each(['code', 'answer'])(
    'are separated by a link code, and by the answer to its question: %s',
    async (by) => {
      await start();
      const [person, exp] = [personKey({ sub: 'ada' }), clock.now() / 1000 + 3600];
      const made = { person, token: await token({ claims: { exp } }), lifetime_ms: 600_000 };
      const { code } = await createCode(process.services, made);
      if (by === 'answer') await write(code);
      await expectSeparated(() => write(by === 'code' ? code : 'yes'));
      expect(answers().filter((text) => text.startsWith('Connect this chat'))).toHaveLength(1);
    },
  );

  it('keep the verdict that the loop guard gives to each of them', async () => {
    await start({ env: { ...COLLECT, LOOP_GUARD_ENABLED: 'true', LOOP_GUARD_MAX_MESSAGES: '2' } });
    for (const text of ['a', 'b', 'c']) await write(text);
    await pass(1000);
    expect(runs).toEqual(['a\nb']);
  });

  it('are shown by `agentd explain` as one turn, by the id of each of them', async () => {
    await start();
    for (const text of ['a', 'b', 'c']) await write(text);
    const { store } = process.services;
    await pass(500);
    const [newest] = await store.inbox.list({ states: ['waiting'], limit: 9 });
    const early = await messageTraces(store, { id: newest?.id ?? '' }, 9);
    expect(early.shown).toMatchObject([{ trace: { turn_id: newest?.id, outcome: 'waiting' } }]);
    await pass(500);
    const messages = await store.inbox.list({ states: ['done'], limit: 9 });
    const [first] = messages.toReversed();
    expect(messages).toHaveLength(3);
    for (const { id, message_id, request_id } of messages)
      for (const named of [id, message_id, `msgbot:${message_id}`, request_id]) {
        const { shown, all } = await messageTraces(store, { id: named ?? '' }, 9);
        expect(all, String(named)).toBe(1);
        expect(shown[0]?.trace).toMatchObject({ turn_id: first?.id, outcome: 'answered' });
        expect(shown[0]?.trace.collected).toHaveLength(2);
      }
    expect(await store.traces.find(messages[0]?.message_id ?? '')).toHaveLength(1);
  });

  it('are answered with exactly the same messages after the daemon was killed at any write', async () => {
    for (const when of ['before', 'after'] as const)
      for (let call = 1; ; call++) {
        directory = fastStateDirectory();
        platform = await VirtualPlatform.of(msgbot);
        runs = [];
        await start();
        for (const text of ['a', 'b']) await write(text);
        process.dieAt(call, when);
        await pass(1000);
        const died = process.isDead;
        const begun = runs.length > 0;
        await process.kill();
        await start();
        await write('c');
        await pass(60_000);
        const about = `${when} write ${call}`;
        // A turn whose run has begun has the same messages in each run; others may take up the next message.
        const turns = new Set(runs);
        if (begun) expect([...turns], about).toEqual(['a\nb', 'c']);
        else expect([...turns].join('\n'), about).toBe('a\nb\nc');
        const texts = answers().filter((text, at, all) => all.indexOf(text) === at);
        expect(texts, about).toEqual([...turns].map((text) => `re: ${text}`));
        await process.kill();
        if (!died) break;
      }
  });
});

describe('an answer to a question', () => {
  it('is not collected, whether it is a word or a button, and neither is a text that only reads like one', async () => {
    const world = await ConfirmationWorld.open({ env: COLLECT });
    const wait = async (ms: number) => {
      world.clock.moveTo(world.clock.now() + ms);
      await world.settle();
    };
    await world.post('cancel 1004');
    await wait(1000);
    expect(world.sent).toHaveLength(1);
    await world.write('yes');
    expect(world.calls).toHaveLength(1);
    await world.post('cancel 1005');
    await wait(1000);
    await world.press({ id: world.asked, approve: true });
    expect(world.calls).toHaveLength(2);
    // No question is open: these are ordinary messages, and together they are no answer either.
    await world.post('yes');
    await world.post('please');
    await wait(1000);
    expect(world.turns.at(-1)?.text).toBe('yes\nplease');
  });

  it('is not put together from several messages', async () => {
    const world = await ConfirmationWorld.open({ env: COLLECT });
    const wait = async () => {
      world.clock.moveTo(world.clock.now() + 1000);
      await world.settle();
    };
    await world.post('cancel 1 and 2');
    await wait();
    for (const text of ['only', '1']) await world.post(text);
    await wait();
    expect([world.calls, world.turns.at(-1)?.text]).toEqual([[], 'only\n1']);
  });

  it('ends the collecting of the messages before it', async () => {
    const world = await ConfirmationWorld.open({ env: COLLECT });
    await world.post('cancel 1004');
    world.clock.moveTo(world.clock.now() + 1000);
    await world.settle();
    await world.post('wait', 'bob');
    await world.write('yes');
    expect(world.turns.map(({ text }) => text)).toEqual(['cancel 1004', 'wait', 'yes']);
    expect(world.calls).toHaveLength(1);
  });
});
