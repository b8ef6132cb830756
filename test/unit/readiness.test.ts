import { expect, test } from 'vitest';
import { Readiness } from '../../src/daemon/readiness.ts';
import type { StoreCondition } from '../../src/daemon/store/store.ts';

test('a daemon is ready from when it serves until it stops, while its store can be written', () => {
  const readiness = new Readiness();
  let condition: StoreCondition = { writable: true, detail: null };
  readiness.starting('opening the store');
  expect(readiness.report()).toEqual({
    status: 'failed',
    reason: 'The daemon is starting: opening the store.',
    checks: { daemon: { status: 'failed', detail: 'The daemon is starting: opening the store.' } },
  });

  readiness.useStore({ condition: () => condition });
  readiness.starting('loading the agent runtime');
  expect(readiness.report()).toMatchObject({
    reason: 'The daemon is starting: loading the agent runtime.',
    checks: { store: { status: 'ok' } },
  });

  readiness.serving();
  const ready = { status: 'ok', reason: null, checks: { daemon: { status: 'ok' }, store: { status: 'ok' } } };
  expect(readiness.report()).toEqual(ready);

  condition = { writable: false, detail: 'database or disk is full' };
  const detail = 'The store cannot be written: database or disk is full.';
  expect(readiness.report()).toEqual({
    status: 'failed',
    reason: detail,
    checks: { daemon: { status: 'ok' }, store: { status: 'failed', detail } },
  });

  condition = { writable: true, detail: null };
  expect(readiness.report()).toEqual(ready);

  readiness.stopping();
  expect(readiness.report()).toMatchObject({ status: 'failed', reason: 'The daemon is stopping.' });
});
