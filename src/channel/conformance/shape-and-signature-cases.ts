import assert from 'node:assert/strict';
import { checkChannel } from '../check-channel.ts';
import { checkPlugin } from '../check-plugin.ts';
import type { Refusal } from '../fit.ts';
import { CHANNEL_API_VERSION, type SimulatedEvent } from '../index.ts';
import type { Bench } from './bench.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import type { SampleRequest, Trial } from './options.ts';
import { createIn, recordingScope } from './recording-scope.ts';

/** Headers that do not prove who sent the request. */
const PLAIN_HEADERS: readonly string[] = ['content-type', 'content-length', 'accept', 'user-agent', 'host'];

const KINDS: readonly SimulatedEvent['kind'][] = ['message', 'edit', 'command', 'other', 'status'];

/** Cases about the signature of deliveries, which the plugin's simulator makes. */
export function signatureCases(): readonly [name: string, trial: Trial][] {
  return [
    ['refuses deliveries that are signed with another secret', refusesOtherSecrets],
    ['refuses deliveries without a signature', refusesWithoutSignature],
    ['refuses a signed body after one byte has changed', refusesChangedBodies],
    ['checks the signature before it reads the body', checksSignatureFirst],
  ];
}

export function listEvents({ places }: Bench): readonly Partial<SimulatedEvent>[] {
  return KINDS.flatMap((kind) =>
    places.map((place) => ({ kind, place, ...(kind === 'command' ? { text: '/help me' } : {}) })),
  );
}

async function refusesOtherSecrets(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of listEvents(bench))
      await refuses(open, bench.delivery({ ...event, bad_signature: true }));
  });
}

async function refusesWithoutSignature(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of listEvents(bench)) {
      const { headers = {}, ...request } = bench.delivery(event);
      const plain = Object.entries(headers).filter(([name]) => PLAIN_HEADERS.includes(name.toLowerCase()));
      await refuses(open, { ...request, headers: Object.fromEntries(plain) });
    }
  });
}

async function refusesChangedBodies(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    const request = bench.delivery({});
    const { length } = Buffer.from(request.body);
    for (const at of [0, Math.floor(length / 2), length - 1]) {
      const body = Buffer.from(request.body);
      body[at] = (body[at] ?? 0) ^ 1;
      if (signsBodies(bench)) await refuses(open, { ...request, body });
      else assert.ok((await open.deliver({ ...request, body })).status < 500);
    }
    const longer = { ...request, body: `${request.body} ` };
    if (signsBodies(bench)) await refuses(open, longer);
  });
}

/**
 * Whether the signature depends on the body. A platform that sends the same secret with each delivery does not sign it.
 */
function signsBodies(bench: Bench): boolean {
  const [one, two] = ['one', 'two'].map((text) => bench.delivery({ text }));
  const proof = (request: SampleRequest | undefined) => JSON.stringify([request?.path, request?.headers]);
  return proof(one) !== proof(two);
}

async function checksSignatureFirst(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    const request = bench.delivery({ bad_signature: true });
    for (const body of ['', '{', '[]', '['.repeat(100_000), '\u0000', '%'])
      await refuses(open, { ...request, body });
  });
}

async function refuses(open: OpenChannel, request: SampleRequest): Promise<void> {
  const { status, code } = await open.deliver(request);
  assert.equal(code, 'invalid_signature', `code of the problem (the delivery was answered ${status})`);
  const { enqueued, notices, edited } = open.scope;
  assert.equal(
    enqueued.length + notices.length + edited.length,
    0,
    'number of messages, notices and edits of a refused delivery, which must be 0',
  );
}

/** Cases that every channel must pass, before it gets a message. */
export function shapeCases(): readonly [name: string, trial: Trial][] {
  return [
    ['matches contract version 1', hasShape],
    ['is detected if it is configured, and only then', isDetected],
    ['stops, whether it was started or not', stops],
    ['reports its health before it is started', reportsHealth],
  ];
}

/** The checks with which the daemon loads a plugin and creates its channel. */
async function hasShape({ plugin, settings }: Bench): Promise<void> {
  assert.equal(plugin.apiVersion, CHANNEL_API_VERSION);
  fits(checkPlugin({ ...plugin }));
  fits(checkChannel(plugin, createIn(plugin, recordingScope(plugin.name, settings))));
}

function fits(refusals: readonly Refusal[]): void {
  const lines = refusals.map(({ problem, right }) => `${problem}; right: ${right}`);
  assert.ok(lines.length === 0, `the daemon would refuse this plugin:\n${lines.join('\n')}`);
}

async function isDetected({ plugin, settings }: Bench): Promise<void> {
  assert.equal(plugin.detect(settings), true, 'detect() must return true with the settings of the suite');
  const defaults = Object.fromEntries(plugin.settings.map(({ name, default: value }) => [name, value]));
  assert.equal(plugin.detect(defaults), false, 'detect() must return false with the defaults');
}

async function stops(bench: Bench): Promise<void> {
  await withChannel(bench, {}, async () => {});
  await withChannel(bench, { start: true }, async () => {});
}

async function reportsHealth(bench: Bench): Promise<void> {
  await withChannel(bench, {}, async ({ channel }) => {
    const health = channel.health?.() ?? { status: 'ok' };
    assert.ok(health.status === 'ok' || (health.status === 'degraded' && health.detail.length > 0));
  });
}
