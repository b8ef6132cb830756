import { pino } from 'pino';
import { expect, it } from 'vitest';
import { AgentdError } from '../../../src/daemon/errors.ts';
import { Refusals } from '../../../src/daemon/http/refusals.ts';
import type { TraceStore } from '../../../src/daemon/store/traces.ts';

const RATE_LIMITED = new AgentdError('rate_limited', 'Too many.');

function fixture() {
  const time = { now: 0, fails: false, hangs: false };
  const kept: string[] = [];
  const log: Record<string, unknown>[] = [];
  const traces: TraceStore = {
    keep: () => Promise.reject(new Error('not a trace of a turn')),
    async keepRefused({ request_id }) {
      if (time.fails) throw new Error('the disk is full');
      kept.push(request_id);
      if (time.hangs) await new Promise(() => undefined);
    },
    find: async () => [],
    findOf: async () => [],
    recent: async () => [],
  };
  const logger = pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line)) });
  const refusals = new Refusals(
    { store: { traces }, clock: { now: () => 1 }, log: logger, agentDigest: () => 'digest' },
    () => time.now,
  );
  const refuse = (request_id: string, error: unknown = RATE_LIMITED, limited = true) =>
    refusals.keep({ request_id, limited, channel: 'web', started_at: 1, error });
  /** Resolves in the next tick, when traces are stored and log lines are written. */
  const settle = () => new Promise(setImmediate);
  return { time, kept, log, refuse, settle };
}

it('on average, at most 20 traces of refusals per second are stored, and at most 100 at once', async () => {
  const { time, kept, refuse, settle } = fixture();
  for (let second = 0; second < 10; second++) {
    for (let n = 0; n < 1000; n++) {
      refuse(`${second}.${n}`);
      if (n % 50 === 0) await settle();
    }
    await settle();
    expect(kept).toHaveLength(100 + second * 20);
    time.now += 1000;
  }
  time.now += 3_600_000;
  for (let n = 0; n < 1000; n++) {
    refuse(`late.${n}`);
    if (n % 50 === 0) await settle();
  }
  expect(kept.filter((id) => id.startsWith('late'))).toHaveLength(100);
});

it('lost traces of refusals are logged with their number, at most once a minute', async () => {
  const { time, kept, log, refuse, settle } = fixture();
  time.fails = true;
  for (let n = 0; n < 5; n++) refuse('lost');
  await settle();
  expect(log).toMatchObject([{ lost: 1, err: { message: 'the disk is full' } }]);
  time.fails = false;
  time.now += 59_999;
  refuse('kept');
  await settle();
  expect(log).toHaveLength(1);
  time.now += 1;
  refuse('kept as well');
  await settle();
  expect(log.slice(1)).toMatchObject([{ lost: 4, msg: 'traces of refused requests were not stored' }]);
  expect(kept).toEqual(['kept', 'kept as well']);
});

it('at most 100 traces wait for a store that does not answer', () => {
  const { time, kept, refuse } = fixture();
  time.hangs = true;
  for (let second = 0; second < 60; second++) {
    for (let n = 0; n < 20; n++) refuse(`${second}.${n}`);
    time.now += 1000;
  }
  expect(kept).toHaveLength(100);
});

it('only refusals that leave no other trace are kept, and only of requests whose number is limited', () => {
  const { kept, refuse } = fixture();
  refuse('a message with a trace of its own', new AgentdError('session_forbidden', 'No.'));
  refuse('a defect', new TypeError('No.'));
  refuse('a request of a stranger', RATE_LIMITED, false);
  refuse('a stream of somebody else', new AgentdError('forbidden', 'No.'), false);
  expect(kept).toEqual(['a stream of somebody else']);
});
