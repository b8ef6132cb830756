import assert from 'node:assert/strict';
import type { SimulatedEvent } from '../index.ts';
import { Bench } from './bench.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import type { SampleRequest, Trial } from './options.ts';

/** Headers that prove nothing. */
const PLAIN_HEADERS: readonly string[] = ['content-type', 'content-length', 'accept', 'user-agent', 'host'];

/** Whom a channel believes: cases of the plugin's simulator. */
export function signatureCases(): readonly [name: string, trial: Trial][] {
  return [
    ['refuses what is signed with another secret, whatever it is', refusesOtherSecrets],
    ['refuses a delivery without the headers that prove it', refusesWithoutProof],
    ['refuses a signed body of which one byte was altered', refusesAlteredBodies],
    ['looks at no body before its signature', looksAtNothing],
    ['survives signed bodies of any form', survivesBodies],
  ];
}

const KINDS: readonly SimulatedEvent['kind'][] = ['message', 'edit', 'command', 'other', 'status'];

function eventsOf({ places }: Bench): readonly Partial<SimulatedEvent>[] {
  return KINDS.flatMap((kind) =>
    places.map((place) => ({ kind, place, ...(kind === 'command' ? { text: '/help me' } : {}) })),
  );
}

async function refusesOtherSecrets(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of eventsOf(bench))
      await refuses(open, bench.delivery({ ...event, bad_signature: true }));
  });
}

async function refusesWithoutProof(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of eventsOf(bench)) {
      const { headers = {}, ...request } = bench.delivery(event);
      const plain = Object.entries(headers).filter(([name]) => PLAIN_HEADERS.includes(name.toLowerCase()));
      await refuses(open, { ...request, headers: Object.fromEntries(plain) });
    }
  });
}

async function refusesAlteredBodies(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
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

/** A platform that sends the same secret with each delivery cannot say who wrote the body. */
function signsBodies(bench: Bench): boolean {
  const [one, two] = ['one', 'two'].map((text) => bench.delivery({ text }));
  const proof = (request: SampleRequest | undefined) => JSON.stringify([request?.path, request?.headers]);
  return proof(one) !== proof(two);
}

async function looksAtNothing(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    const request = bench.delivery({ bad_signature: true });
    for (const body of ['', '{', '[]', '['.repeat(100_000), '\u0000', '%'])
      await refuses(open, { ...request, body });
  });
}

async function survivesBodies(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  const { simulator, settings } = bench;
  if (!simulator) throw new Error('only where there is a simulator');
  await withChannel(bench, { start: true }, async (open) => {
    for (const event of eventsOf(bench)) {
      // What people write in rooms has another form; of the rest, once is enough.
      if (event.place === 'group' && event.kind !== 'message') continue;
      const right = simulator.delivery(bench.event(event), settings);
      for (const { title, body } of hostileBodies(right.body)) {
        const request = { ...right, body };
        const { status } = await open.deliver(simulator.sign?.(request, settings) ?? request);
        assert.ok(status < 500, `${title} was answered ${status}`);
        open.look();
        open.forget();
      }
    }
  });
}

async function refuses(open: OpenChannel, request: SampleRequest): Promise<void> {
  const { status, code } = await open.deliver(request);
  assert.equal(code, 'invalid_signature', `code of the problem (answered ${status})`);
  const { enqueued, notices, edited } = open.scope;
  assert.equal(enqueued.length + notices.length + edited.length, 0, 'nothing of it gets through');
}
