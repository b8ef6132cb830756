import assert from 'node:assert/strict';
import type { ChannelCheck, ChannelSettings } from '../index.ts';
import type { Bench, StandIn } from './bench.ts';
import { leaks } from './faults.ts';
import { withChannel } from './open-channel.ts';
import type { Trial } from './options.ts';
import { hanging, quoting, withShortTimeouts } from './send-reply.ts';

/** Cases about `check`, with the platform of the plugin's simulator. Channels without `check` pass. */
export function checkCases(): readonly [name: string, trial: Trial][] {
  return [
    ['check() accepts good credentials', checksGood],
    ['check() reports credentials that the platform refuses', checksForeign],
    ['check() reports a platform that gives no usable answer', checksInVain],
  ];
}

async function checksGood(bench: Bench): Promise<void> {
  const platform = bench.platform();
  const check = await runCheck(bench, platform, bench.settings);
  if (check === null) return;
  assert.equal(check.outcome, 'ok', check.detail);
  assert.deepEqual(platform.seen, [], 'check() must not show messages to people');
}

async function checksForeign(bench: Bench): Promise<void> {
  const check = await runCheck(bench, bench.platform(), bench.foreignSettings);
  if (check !== null) assert.equal(check.outcome, 'failed', check.detail);
}

async function checksInVain(bench: Bench): Promise<void> {
  const troubles: StandIn['trouble'][] = [
    () => new Response('{}', { status: 503 }),
    () => new Response('<html>', { status: 200 }),
    () => new Response('', { status: 307, headers: { Location: 'https://elsewhere.invalid/' } }),
    quoting,
    hanging,
  ];
  for (const trouble of troubles) {
    const platform = bench.platform();
    platform.trouble = trouble;
    const check = await withShortTimeouts(() => runCheck(bench, platform, bench.settings));
    if (check !== null) assert.equal(check.outcome, 'failed', check.detail);
    assert.ok(
      platform.calls.every(({ path }) => path.startsWith('/')),
      'check() must not follow a redirect to another address',
    );
  }
}

/** Runs `check` of a new channel and checks its result. Returns null if the channel has no `check`. */
async function runCheck(
  bench: Bench,
  platform: StandIn,
  settings: ChannelSettings,
): Promise<ChannelCheck | null> {
  return withChannel(bench, { platform, settings }, async ({ channel, secrets }) => {
    if (!channel.check) return null;
    const check = await channel.check();
    assert.ok(!leaks(check, secrets), 'check() must not show a secret of the settings');
    assert.ok(check.detail.length > 0, 'check() must return a detail');
    if (check.outcome !== 'ok') assert.ok(check.advice.length > 0, 'check() must return advice');
    return check;
  });
}
