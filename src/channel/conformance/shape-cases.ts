import assert from 'node:assert/strict';
import { Bench } from './bench.ts';
import { withChannel } from './open-channel.ts';
import type { Trial, TrialOptions } from './options.ts';

/** Cases that every channel must pass, before it gets a message. */
export function shapeCases(): readonly [name: string, trial: Trial][] {
  return [
    ['matches contract version 1', hasShape],
    ['is detected if it is configured, and only then', isDetected],
    ['stops, whether it was started or not', stops],
    ['reports its health before it is started', reportsHealth],
  ];
}

async function hasShape({ plugin }: TrialOptions): Promise<void> {
  assert.equal(plugin.apiVersion, 1);
  assert.match(plugin.name, /^[a-z][a-z0-9-]*$/);
  assert.ok(plugin.summary.length > 0, 'summary must not be empty');
  const prefix = `${plugin.name.toUpperCase().replaceAll('-', '_')}_`;
  for (const { name, sentence } of plugin.settings) {
    assert.ok(name.startsWith(prefix), `the name of the setting ${name} must begin with ${prefix}`);
    assert.ok(sentence.length > 0, `the setting ${name} must have a sentence`);
  }
}

async function isDetected(options: TrialOptions): Promise<void> {
  const { plugin, settings } = await Bench.set(options);
  assert.equal(plugin.detect(settings), true, 'detect() must return true with the settings of the suite');
  const defaults = Object.fromEntries(plugin.settings.map(({ name, default: value }) => [name, value]));
  assert.equal(plugin.detect(defaults), false, 'detect() must return false with the defaults');
}

async function stops(options: TrialOptions): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, {}, async () => {});
  await withChannel(bench, { start: true }, async () => {});
}

async function reportsHealth(options: TrialOptions): Promise<void> {
  await withChannel(await Bench.set(options), {}, async ({ channel }) => {
    const health = channel.health?.() ?? { status: 'ok' };
    assert.ok(health.status === 'ok' || (health.status === 'degraded' && health.detail.length > 0));
  });
}
