import { beforeEach, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { link, unlink } from '../../../src/daemon/linking/links.ts';
import { InboxProcess } from '../../support/inbox-process.ts';
import { token } from '../../support/tokens.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

/* agentd-message(7), "The inbox": a reply that was written for one person is not sent to another. */

const USER = '700000001';
const AWAY = () => new Response('{"ok":false}', { status: 502 });

let clock: VirtualClock;
let platform: VirtualPlatform;
let process: InboxProcess;
let number: number;
/** What happens during a run. */
let during: () => Promise<void>;

const agent: AgentRuntime = {
  apiVersion: 1,
  async *run({ person }) {
    await during();
    yield `This is what ${person?.email ?? 'nobody'} may read.`;
  },
};

beforeEach(async () => {
  clock = new VirtualClock(Date.now());
  platform = await VirtualPlatform.of(msgbot);
  [number, during] = [0, async () => {}];
  process = await InboxProcess.start({
    ...{ directory: fastStateDirectory(), clock, platforms: [platform], agent, inGroups: true },
  });
  const started = process;
  onTestFinished(() => started.kill());
});

const event = (place: SimulatedEvent['place']): SimulatedEvent => ({
  ...{ kind: 'message', user: USER, text: 'What may I read?', place, number: ++number },
  sent_at: clock.now(),
});
async function ask(place: SimulatedEvent['place'] = 'direct'): Promise<void> {
  await process.deliver('msgbot', event(place));
  await process.idle();
}
const linkTo = async (sub: string) =>
  link(process.services, msgbot, USER, await token({ sub }), undefined, 'operator');
const isShown = () => platform.shown.some(({ text }) => text.includes('ada@example.com may read'));
const failures = async () =>
  (await process.services.store.inbox.list({ states: ['failed'], limit: 10 })).map(({ failure }) => failure);
const REFUSED = 'delivery_failed: the chat is signed in as somebody else than the reply was written for';

it('a chat that is signed in as another person during the run does not get the reply', async () => {
  await linkTo('ada');
  during = async () => void (await linkTo('bob'));
  await ask();
  expect([isShown(), await failures()]).toEqual([false, [REFUSED]]);
});

it('nor does a chat that is signed in as another person while the platform cannot be reached', async () => {
  await linkTo('ada');
  platform.outage = AWAY;
  await ask();
  await linkTo('bob');
  platform.outage = () => null;
  await process.passUntil(clock.now() + 10 * 60_000);
  expect([isShown(), await failures()]).toEqual([false, [REFUSED]]);
});

it('gets the reply if it is signed in as the same person again, or as nobody', async () => {
  await linkTo('ada');
  during = async () => void (await linkTo('ada'));
  await ask();
  expect(isShown()).toBe(true);
  platform.shown.length = 0;
  during = async () => void (await unlink(process.services, msgbot, USER));
  await ask();
  expect([isShown(), await failures()]).toEqual([true, []]);
});

it('a group gets the reply, because everybody in it could read the question', async () => {
  await linkTo('ada');
  during = async () => void (await linkTo('bob'));
  await ask('group');
  expect([isShown(), await failures()]).toEqual([true, []]);
});
