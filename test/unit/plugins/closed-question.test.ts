import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deliver } from '../../../src/channel/conformance/open-channel.ts';
import type { Channel, Shown, SimulatedEvent } from '../../../src/channel/index.ts';
import { createChannel } from '../../../src/daemon/channels/scope.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { FakePlatform } from '../../support/fake-platform.ts';
import { PLATFORMS } from '../../support/platforms.ts';

/*
 * agentd-agent(7), "Confirmation": the message with a question before and after the answer, as people see it on each
 * platform. The platform signs its deliveries, and the channel checks them.
 */

const MINUTE = 60_000;

describe.each(PLATFORMS.map(({ plugin }) => [plugin.name, plugin] as const))('%s', (name, plugin) => {
  const canChange = name !== 'phonechat';
  let world: ConfirmationWorld;
  let platform: FakePlatform;
  let channel: Channel;
  let numbers: number;

  beforeEach(async () => {
    numbers = 0;
    world = await ConfirmationWorld.open();
    platform = await FakePlatform.start(plugin);
    channel = createChannel(plugin, platform.settings, { services: world.services, worker: world.worker });
    world.worker.add(plugin, channel);
  });
  afterEach(() => world.worker.idle());

  async function deliverEvent(event: Partial<SimulatedEvent>): Promise<void> {
    world.clock.moveTo(world.clock.now() + 1);
    const delivery = platform.simulator.delivery(platform.event(event), platform.settings);
    expect(await deliver(channel, delivery)).toMatchObject({ status: 200 });
    await world.settle();
  }
  /** @returns the message with the question, as people see it */
  async function ask(text: string): Promise<Shown> {
    await deliverEvent({ text, number: ++numbers });
    const asked = platform.shown.findLast(({ buttons }) => buttons);
    if (!asked) throw new Error('there is no question with buttons');
    return asked;
  }
  const press = (asked: Shown, index: number) =>
    deliverEvent({ kind: 'press', text: asked.buttons?.[index]?.press ?? '', number: numbers });
  /** The lines in place of the buttons. The rest of the message must be as it was. */
  function outcomes(asked: Shown): string[] {
    const [first = ''] = asked.text.split('\n');
    return platform.shown
      .filter(({ what }) => what === 'edited')
      .map(({ to, text, buttons }) => {
        expect([to, buttons, text.startsWith(first)]).toEqual([asked.to, undefined, true]);
        const line = text.split('\n').at(-1) ?? '';
        return (platform.simulator.readable?.(line) ?? line).replace(/\d\d:\d\d/, 'TIME');
      });
  }
  const ifItCan = (line: string) => (canChange ? [line] : []);

  it('shows a question, its arguments and two buttons, but not how to answer in words', async () => {
    const { text, buttons } = await ask('cancel 1004 because late');
    const words = text.replaceAll('&quot;', '"');
    expect(words).toContain('Cancel order "1004"');
    expect(words).toContain('late');
    expect(words).not.toMatch(/answer/i);
    expect(buttons?.map(({ label }) => label)).toEqual(['Confirm', 'Decline']);
  });

  it('says who confirmed it, when, and that it was done', async () => {
    const asked = await ask('cancel 1004');
    await press(asked, 0);
    expect(outcomes(asked)).toEqual(ifItCan('Confirmed by you at TIME UTC. This was done.'));
    expect(world.calls).toHaveLength(1);
  });

  it('says that it was declined', async () => {
    const asked = await ask('cancel 1004');
    await press(asked, 1);
    expect(outcomes(asked)).toEqual(ifItCan('Declined by you at TIME UTC. Nothing was done.'));
  });

  it('says when it ended, if nobody answered', async () => {
    const asked = await ask('cancel 1004');
    world.clock.moveTo(world.clock.now() + 15 * MINUTE + 1);
    await world.settle();
    expect(outcomes(asked)).toEqual(ifItCan('That question ended at TIME. Nothing was done.'));
  });

  it('says so if nobody knows whether it was done', async () => {
    world.answer = async () => ({
      outcome: 'failed',
      reached: true,
      reason: 'timeout',
      message: 'No answer.',
    });
    const asked = await ask('cancel 1004');
    await press(asked, 0);
    expect(outcomes(asked)).toEqual(
      ifItCan('Confirmed by you at TIME UTC. It isn’t known whether this was done.'),
    );
  });

  it('says what became of each of several actions', async () => {
    const asked = await ask('cancel 1 and 2');
    expect(asked.text).toMatch(/To confirm only some of them, answer for example .*only 1/);
    await deliverEvent({ text: 'only 1', number: ++numbers });
    expect(outcomes(asked)).toEqual(
      ifItCan('Confirmed by you at TIME UTC. 1: This was done. 2: This was declined, and not done.'),
    );
  });

  it.runIf(name === 'msgbot')('counts as changed if an earlier attempt has changed it', async () => {
    const description = 'Bad Request: message is not modified: specified new message content is the same';
    platform.answer = () => ({ status: 400, body: { ok: false, error_code: 400, description } });
    const confirmation = { id: 'x', lead: '', question: 'Sure?', confirm: 'Yes', decline: 'No' };
    const closed = { sent_id: '5:1000002', reply_to: {}, confirmation, outcome: 'Done.' };
    await expect(channel.closeQuestion?.(closed)).resolves.toBeUndefined();
    expect(platform.calls).toHaveLength(1);
  });

  it.runIf(canChange)(
    'acknowledges the press and answers, even if the platform refuses the change',
    async () => {
      const asked = await ask('cancel 1004');
      platform.answer = ({ path }) =>
        /chat\.update|editMessageText/.test(path) ? { status: 500, body: {} } : null;
      await press(asked, 0);
      expect(platform.shown.some(({ text }) => text.includes('Result:'))).toBe(true);
      expect(outcomes(asked)).toEqual([]);
      platform.answer = () => null;
      world.clock.moveTo(world.clock.now() + MINUTE);
      await world.settle();
      expect(outcomes(asked)).toHaveLength(1);
    },
  );
});
