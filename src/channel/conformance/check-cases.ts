import assert from 'node:assert/strict';
import type { ChannelCheck, ChannelSettings } from '../index.ts';
import { Bench } from './bench.ts';
import { withChannel } from './open-channel.ts';
import type { Trial } from './options.ts';
import { inQuickTime } from './quick-time.ts';
import { tells } from './secrets.ts';
import type { StandIn, StandInCall } from './stand-in.ts';

/** What a channel that can ask its platform about its credentials says; cases of the plugin's simulator. */
export function checkCases(): readonly [name: string, trial: Trial][] {
  return [
    ['is told by the platform that its credentials are good', asksWithGood],
    ['is told by the platform that its credentials are refused', asksWithForeign],
    ['says so where the platform cannot tell of its credentials', asksInVain],
  ];
}

async function asksWithGood(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  const platform = bench.platform();
  const check = await asked(bench, platform, bench.settings);
  if (check === null) return;
  assert.equal(check.outcome, 'ok', check.detail);
  assert.deepEqual(platform.seen, [], 'nobody sees anything of it');
}

async function asksWithForeign(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  const check = await asked(bench, bench.platform(), bench.foreignSettings);
  if (check !== null) assert.equal(check.outcome, 'failed', check.detail);
}

async function asksInVain(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
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
    const check = await inQuickTime(() => asked(bench, platform, bench.settings));
    if (check !== null) assert.equal(check.outcome, 'failed', check.detail);
    assert.ok(
      platform.calls.every(({ path }) => path.startsWith('/')),
      'it was led to another address',
    );
  }
}

/** Null: the channel cannot ask. */
async function asked(
  bench: Bench,
  platform: StandIn,
  settings: ChannelSettings,
): Promise<ChannelCheck | null> {
  return withChannel(bench, { platform, settings }, async ({ channel, secrets }) => {
    if (!channel.check) return null;
    const check = await channel.check();
    assert.ok(!tells(check, secrets), 'check() tells a secret of the settings');
    assert.ok(check.detail.length > 0, 'check() says what it found');
    if (check.outcome !== 'ok') assert.ok(check.advice.length > 0, 'check() says what would mend it');
    return check;
  });
}

/** As of a header or an address that cannot be sent: such errors quote what they are about. */
function quoting({ method, path, headers }: StandInCall): Promise<Response> {
  return Promise.reject(new TypeError(`cannot send ${JSON.stringify({ method, path, headers })}`));
}

/** No answer, until the channel gives up; where it leaves that to the scope's `fetch`, until that does. */
function hanging({ signal }: StandInCall): Promise<Response> {
  return new Promise((_resolve, reject) => {
    if (signal) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    else setTimeout(() => reject(new DOMException('The operation timed out.', 'TimeoutError')), 1);
  });
}
