import { expect, it } from 'vitest';
import { measuredPorts } from '../../../src/daemon/metrics/measured-store.ts';
import type { Kernel, StepOptions } from '../../../src/daemon/store/kernels/kernel.ts';
import { replicaStore } from '../../../src/daemon/store/replicas.ts';
import { type Store, storeOver } from '../../../src/daemon/store/store.ts';

// Whatever a method has changed is durable when it resolves, except as its step says. That each kernel does what a step
// says is tested for each of them.

/** Nobody is told of the change before a later change is durable. */
const LAZY = { lazy: true } as const;
/** Whoever holds a claim that the database has forgotten stores nothing more. */
const CLAIMS = { claims: true } as const;
/** As well, and in a store of one process, these claims end with it. */
const ONLY_CLAIMS = { claims: true, onlyClaims: true } as const;
/** On disk, whatever the database is set up to do. */
const JOURNAL = { journal: true } as const;

const EXCEPTIONS: Readonly<Record<string, StepOptions>> = {
  'limits.hit': LAZY,
  'sessions.claim': CLAIMS,
  'sessions.renew': CLAIMS,
  'sessions.release': CLAIMS,
  'sessions.wait': CLAIMS,
  'sessions.leave': CLAIMS,
  beginTurn: CLAIMS,
  'inbox.claim': CLAIMS,
  'inbox.take': CLAIMS,
  'inbox.reap': CLAIMS,
  'summaries.begin': CLAIMS,
  'linkRenewals.take': CLAIMS,
  'idempotency.look': ONLY_CLAIMS,
  'idempotency.claim': ONLY_CLAIMS,
  'idempotency.renew': ONLY_CLAIMS,
  'idempotency.release': ONLY_CLAIMS,
  'inbox.renew': ONLY_CLAIMS,
  'streams.renew': ONLY_CLAIMS,
  'streams.release': ONLY_CLAIMS,
  'streams.requestStop': { onlyClaims: true },
  'actions.start': JOURNAL,
  'actions.restart': JOURNAL,
  'actions.settle': JOURNAL,
  'actions.answer': JOURNAL,
  'signOutMarks.add': JOURNAL,
};

/** A store whose steps do nothing. @returns it, and the options of its last step; null before it */
function fixture() {
  const last: { options: StepOptions | null } = { options: null };
  const kernel: Kernel = {
    description: '',
    async step(_work, options = {}) {
      last.options ??= options;
      return {} as never;
    },
    async *scan() {},
    findRecords: async () => [],
    unlog: async () => 0,
    watch: () => () => undefined,
    close: async () => undefined,
  };
  const store = storeOver(kernel, {
    ...{ memories: null, replicas: replicaStore(kernel), maintenance: () => null },
    ...{ advice: async () => [], census: async () => null, scrub: async () => undefined },
    ...{ condition: () => ({ writable: true, detail: null }), expectRoom: () => undefined },
    ...{ check: async () => undefined, hints: { gather_ms: 0, hintsMayBeLost: false } },
  });
  return { store, last };
}

it('each method of the store is durable when it resolves, except those that are named', () => {
  const { store, last } = fixture();
  const options: Record<string, StepOptions> = {};
  const note = (path: string, method: unknown) => {
    if (typeof method !== 'function') return;
    last.options = null;
    // The first step of a method begins before the method returns. What it would do with its result does not matter.
    Promise.resolve(method({}, {}, {})).catch(() => undefined);
    if (last.options !== null) options[path] = last.options;
  };
  for (const [name, port] of [...measuredPorts(store), ['replicas', store.replicas ?? {}] as const])
    for (const [method, value] of Object.entries(port)) note(`${name}.${method}`, value);
  for (const name of ['beginTurn', 'commitTurn', 'replaceToken'] as const) note(name, store[name]);

  const isException = ([, given]: [string, StepOptions]) => Object.keys(given).length > 0;
  expect(Object.fromEntries(Object.entries(options).filter(isException))).toEqual(EXCEPTIONS);
  expect(Object.keys(options)).toEqual(
    expect.arrayContaining(['sessions.save', 'inbox.screen', 'links.put', 'audit.note', 'commitTurn']),
  );
  expect(Object.keys(options).length).toBeGreaterThan(100);
});

it.each([
  [null, LAZY],
  ['m1', {}],
])('a verdict of the loop guard about the message %s', async (message_id, options) => {
  const { store, last } = fixture();
  await store.guard.check({ message_id } as Parameters<Store['guard']['check']>[0], {} as never);
  expect(last.options).toEqual(options);
});
