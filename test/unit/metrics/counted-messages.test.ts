import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import { Metrics } from '../../../src/daemon/metrics/metrics.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';
import { InboxProcess } from '../../support/inbox-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

// agentd-metrics(7): each message of a platform counts once, whatever its outcome, and so does each text to the
// platform.

let metrics: Metrics;
beforeEach(() => {
  metrics = new Metrics({ version: '1.2.3', commit: null });
});

/** The samples of a metric, by their labels. */
async function samples(name: string): Promise<Record<string, number>> {
  const found = (await metrics.text()).matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'));
  return Object.fromEntries([...found].map(([, labels = '', value]) => [labels, Number(value)]));
}

describe('the messages metric', () => {
  it('counts repeated presses of a button as replayed', async () => {
    const world = await ConfirmationWorld.open();
    Object.assign(world.services, { observer: metrics });
    await world.write('cancel 1004', 'ada');
    const id = world.asked;
    for (const approve of [true, true, false]) await world.post('', 'ada', { confirm: { id, approve } });
    await world.settle();
    expect(await samples('agentd_messages_total')).toEqual({
      'channel="telex",outcome="answered"': 2,
      'channel="telex",outcome="replayed"': 2,
    });
  });
});

describe('the deliveries metric, while a platform is unreachable,', () => {
  const HOUR = 3_600_000;

  it('counts each text that failed permanently once, and each repeated attempt once', async () => {
    const clock = new VirtualClock(Date.UTC(2030, 0, 1));
    const platform = await VirtualPlatform.of(msgbot);
    const process = await InboxProcess.start({
      directory: fastStateDirectory(),
      clock,
      platforms: [platform],
      agent: {
        apiVersion: 1,
        async *run() {
          yield 'an answer';
        },
      },
      env: { INBOX_SEND_SECONDS: '600' },
    });
    onTestFinished(() => process.kill());
    Object.assign(process.services, { observer: metrics });
    platform.outage = ({ path }) => (path.endsWith('/sendMessage') ? new TypeError('fetch failed') : null);
    const PEOPLE = 8;
    for (let person = 1; person <= PEOPLE; person++)
      await process.deliver('msgbot', {
        kind: 'message',
        user: String(700_000_000 + person),
        text: 'hello',
        place: 'direct',
        number: person,
        sent_at: clock.now(),
      });
    await process.passUntil(clock.now() + 2 * HOUR);
    const states = (await process.services.store.inbox.list({ states: ['failed'], limit: 100 })).length;
    expect(states).toBe(PEOPLE);
    const counted = await samples('agentd_deliveries_total');
    expect(counted['channel="msgbot",outcome="failed"']).toBe(PEOPLE);
    expect(counted['channel="msgbot",outcome="retried"']).toBeGreaterThan(0);
    expect(counted).not.toHaveProperty('channel="msgbot",outcome="sent"');
    expect(await samples('agentd_messages_total')).toEqual({
      'channel="msgbot",outcome="answered"': PEOPLE,
    });
  });
});
