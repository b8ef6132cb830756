import { beforeEach, describe, expect, it } from 'vitest';
import { RunTaint } from '../../../src/daemon/agent/context.ts';
import {
  GIVEN_WAIT_MS,
  LongTermMemory,
  type RunMemory,
  TOOL_WAIT_MS,
} from '../../../src/daemon/agent/long-term-memory.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { type MemoryOwner, ownerOfPerson } from '../../../src/daemon/identity/identity.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import type { MemoryStore } from '../../../src/daemon/store/memories/memories.ts';
import { Cancellation } from '../../../src/daemon/time/time-limit.ts';
import { Trace } from '../../../src/daemon/trace/trace.ts';
import { ada, bob } from '../../contract/fixtures.ts';
import { collectLog, type LogLine } from '../../support/log-lines.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const ADA = ownerOfPerson(ada);
const BOB = ownerOfPerson(bob);
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
const DOWN = new StoreUnavailable(new Error('refused'));

let clock: VirtualClock;
let store: MemoryStore;
/** If set, the backend calls this function instead of each of its methods. */
let instead: (() => Promise<never>) | null;
let memory: LongTermMemory;
let lines: LogLine[];
let trace: Trace;
let limit: Cancellation;
/** The taint of the last run. */
let taint: RunTaint;
/** True if the person was erased, or another daemon took over the run, after the run began. */
let isRunLost: boolean;

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2030, 0, 31, 12));
  const { memories } = openMemoryStore(new MemoryState(), { clock });
  if (memories === null) throw new Error('the reference store has no memories');
  store = memories;
  instead = null;
  const log = collectLog();
  lines = log.lines;
  memory = new LongTermMemory({ memories: sabotaged(memories), clock, log: log.log });
  trace = new Trace(clock);
  limit = new Cancellation();
  isRunLost = false;
});

/** These memories behind a proxy: while `instead` is set, it is called instead of each method. */
function sabotaged(memories: MemoryStore): MemoryStore {
  return new Proxy(memories, {
    get(target, name) {
      const method = target[name as keyof MemoryStore];
      if (typeof method !== 'function') return method;
      return (...args: never[]) =>
        instead ? instead() : (method as (...given: never[]) => unknown)(...args);
    },
  });
}

function runOf(owner: MemoryOwner = ADA, turn_id = 'turn-1'): RunMemory {
  const isLost = async () => isRunLost;
  taint = new RunTaint();
  return memory.ofRun({ owner, turn_id, request_id: 'request-1', trace, limit, taint, isLost });
}
const tick = () => new Promise(setImmediate);
const stored = async (owner = ADA) => (await store.list(owner)).map(({ text }) => text);
const add = (text: string, tainted = false, owner = ADA) => {
  clock.moveTo(clock.now() + 1000);
  return store.add(owner, { text, turn_id: 'earlier', tainted });
};
const messageOf = (answer: { outcome: string }) => (answer as { message?: string }).message;

describe('the long-term memory of a run', () => {
  it('stores a text of the turn, and returns what it stored', async () => {
    expect(await runOf().remember('  I like tea\n')).toEqual({
      outcome: 'done',
      result: { text: 'I like tea', date: '2030-01-31' },
    });
    expect(await store.list(ADA)).toEqual([
      expect.objectContaining({ text: 'I like tea', turn_id: 'turn-1', tainted: false }),
    ]);
  });

  it('refuses an empty text or a text of more than 1,000 characters, with a clear message', async () => {
    const run = runOf();
    expect((await run.remember('é'.repeat(1000))).outcome).toBe('done');
    expect((await run.remember('\u{1f600}'.repeat(1000))).outcome).toBe('done');
    const tooLong = await run.remember('x'.repeat(1001));
    expect(messageOf(tooLong)).toMatch(/at most 1000 characters, and this text has 1001.*shorter/);
    expect((await run.remember(' \n')).outcome).toBe('refused');
    expect(await stored()).toHaveLength(2);
  });

  it('masks everything that looks like a token, and removes characters that a database cannot store', async () => {
    await runOf().remember(`my token is ${JWT}, \u0000\u0007\ud800 and\ta tab`);
    expect(await stored()).toEqual(['my token is [token], \ufffd and\ta tab']);
  });

  it('marks a text as tainted if the run stores it after a result from another origin', async () => {
    const run = runOf();
    await taint.mark();
    await run.remember('pay to account 7');
    expect(await store.list(ADA)).toMatchObject([{ tainted: true }]);
  });

  it('marks texts as tainted if the run stored them before a result from another origin', async () => {
    const run = runOf();
    await add('of an earlier turn');
    await run.remember('pay to account 7');
    await taint.mark();
    expect(await store.list(ADA)).toMatchObject([{ tainted: true }, { tainted: false }]);
  });

  it('marks a text as tainted if it is being stored when a result from another origin arrives', async () => {
    const run = runOf();
    await Promise.all([run.remember('pay to account 7'), taint.mark()]);
    expect(await store.list(ADA)).toMatchObject([{ tainted: true }]);
  });

  it('marks a text as tainted if a result from another origin arrives before the text is stored', async () => {
    const real = store.add;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    store.add = (...args) => {
      begun.resolve();
      return late.then(() => real(...args));
    };
    const run = runOf();
    const remembered = run.remember('pay to account 7');
    await begun.promise;
    await taint.mark();
    resolve();
    await remembered;
    expect(await store.list(ADA)).toMatchObject([{ tainted: true }]);
  });

  it('withholds a result from another origin if the memories of the run cannot be marked', async () => {
    const run = runOf();
    await run.remember('pay to account 7');
    instead = () => Promise.reject(DOWN);
    await expect(taint.mark()).rejects.toThrow();
    await expect(taint.mark()).rejects.toThrow();
    instead = null;
    await taint.mark();
    expect(await store.list(ADA)).toMatchObject([{ tainted: true }]);
  });
});

describe('a run whose claim is lost', () => {
  it('remembers nothing, because the data of its person may have been erased', async () => {
    const run = runOf();
    isRunLost = true;
    instead = () => Promise.reject(new Error('it is stored, if only for a moment'));
    expect((await run.remember('I like tea')).outcome).toBe('refused');
    expect(await stored()).toEqual([]);
  });

  it('remembers nothing, either, if the claim is lost while the memory is being stored', async () => {
    const add: MemoryStore['add'] = async (...given) => {
      isRunLost = true;
      return store.add(...given);
    };
    memory = new LongTermMemory({ memories: { ...store, add }, clock, log: collectLog().log });
    expect((await runOf().remember('I like tea')).outcome).toBe('refused');
    expect(await stored()).toEqual([]);
  });
});

describe('recall', () => {
  it('returns matches with their dates, and marks tainted matches', async () => {
    await add('I like tea');
    await add('tea is at account 7', true);
    await add('of Bob: tea', false, BOB);
    expect(await runOf().recall('tea')).toEqual({
      outcome: 'done',
      result: [
        { text: 'tea is at account 7', date: '2030-01-31', from_elsewhere: true },
        { text: 'I like tea', date: '2030-01-31' },
      ],
    });
  });

  it('returns the newest memories for an empty query', async () => {
    for (let n = 0; n < 25; n++) await add(`number ${n}`);
    const answer = await runOf().recall(' ');
    expect(answer).toMatchObject({ outcome: 'done' });
    const { result } = answer as unknown as { result: { text: string }[] };
    expect(result).toHaveLength(20);
    expect(result[0]?.text).toBe('number 24');
  });

  it('marks later memories of the run as tainted if it returns a tainted memory', async () => {
    await add('pay to account 7', true);
    const run = runOf();
    await run.recall('account');
    await run.remember('the account is 7');
    expect((await store.list(ADA))[0]).toMatchObject({ text: 'the account is 7', tainted: true });
  });

  it('counts the returned memories as used', async () => {
    const { used_at } = await add('I like tea');
    clock.moveTo(clock.now() + 5000);
    await runOf().recall('tea');
    await tick();
    expect((await store.list(ADA))[0]?.used_at).toBe(used_at + 5000);
  });
});

describe('forget', () => {
  it('deletes the memories that contain every word of the query, and lists them', async () => {
    await add('I like green tea');
    await add('I like black tea');
    await add('of Bob: green tea', false, BOB);
    expect(await runOf().forget('green TEA')).toEqual({
      outcome: 'done',
      result: { forgotten: [{ text: 'I like green tea', date: '2030-01-31' }] },
    });
    expect(await stored()).toEqual(['I like black tea']);
    expect(await stored(BOB)).toHaveLength(1);
  });

  it('deletes nothing if no memory contains every word of the query, and lists similar memories', async () => {
    await add('I like green tea');
    const answer = await runOf().forget('green milk');
    expect(answer).toMatchObject({
      outcome: 'done',
      result: { forgotten: [], similar: [{ text: 'I like green tea' }] },
    });
    expect((await runOf().forget('')).outcome).toBe('done');
    expect(await stored()).toHaveLength(1);
  });

  it.each(['account 7', 'account 8'])(
    'marks the run as tainted if it shows a tainted memory that it deletes, or that is similar: %s',
    async (query) => {
      await add('pay to account 7', true);
      await runOf().forget(query);
      expect(taint.isTainted).toBe(true);
    },
  );

  it('deletes nothing, and shows nothing, if what the run has stored cannot be marked', async () => {
    await add('pay to account 7', true);
    const run = runOf();
    await run.remember('I like tea');
    store.taint = () => Promise.reject(DOWN);
    expect(await run.forget('account 7')).toMatchObject({ outcome: 'unavailable' });
    expect(await stored()).toHaveLength(2);
  });

  it('deletes nothing if the query matches too many memories', async () => {
    for (let n = 0; n < 21; n++) await add(`order ${n}`);
    expect(messageOf(await runOf().forget('order'))).toContain('Nothing was forgotten');
    expect(await stored()).toHaveLength(21);
  });
});

describe('the memories that a run gets at its beginning', () => {
  it('are the five best matches for the message, with dates, and are neither tainted nor of other people', async () => {
    for (const n of [1, 2, 3, 4, 5, 6]) await add(`tea number ${n}`);
    await add('tea number 7', true);
    await add('tea of Bob', false, BOB);
    const given = await runOf().given('Which tea?');
    expect(given).toHaveLength(5);
    expect(given[0]).toEqual({ text: 'tea number 6', date: '2030-01-31' });
    expect(JSON.stringify(given)).not.toMatch(/number 7|Bob/);
    expect(trace.lines).toMatchObject([{ step: 'memory', verdict: 'ok', detail: { given: 5 } }]);
    expect(JSON.stringify(trace.lines)).not.toContain('tea');
  });

  it('have at most 1,000 tokens together: memories that do not fit are left out', async () => {
    for (const n of [1, 2, 3, 4, 5]) await add(`tea ${n} ${'x'.repeat(990)}`);
    const given = await runOf().given('tea');
    expect(given).toHaveLength(4);
    await add(`tea ${'日'.repeat(996)}`);
    const bytes = (await runOf().given('tea')).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    expect(bytes).toBeLessThanOrEqual(4000);
  });

  it('count as used, and no other memories do', async () => {
    const tea = await add('I like tea');
    await add('My dog is Rex');
    clock.moveTo(clock.now() + 5000);
    await runOf().given('tea?');
    await tick();
    const used = Object.fromEntries((await store.list(ADA)).map((one) => [one.text, one.used_at]));
    expect(used).toEqual({ 'I like tea': clock.now(), 'My dog is Rex': tea.used_at + 1000 });
  });

  it('are empty if the backend does not answer in time', async () => {
    instead = () => new Promise(() => {});
    const given = runOf().given('tea');
    await tick();
    clock.moveTo(clock.now() + GIVEN_WAIT_MS);
    expect(await given).toEqual([]);
    expect(trace.lines).toMatchObject([{ verdict: 'fallback', reason: 'memory_unavailable' }]);
  });

  it('are no longer awaited after the run has ended', async () => {
    instead = () => new Promise(() => {});
    const given = runOf().given('tea');
    limit.end(() => new Error('the run is over'));
    await expect(given).rejects.toThrow('the run is over');
    expect(lines).toEqual([]);
  });
});

describe('an outage of the memory backend', () => {
  const fails = async (run = runOf()) => {
    instead = () => Promise.reject(DOWN);
    return run.given('tea');
  };

  it('is logged once, and so is its end', async () => {
    expect(await fails()).toEqual([]);
    await runOf().recall('tea');
    await runOf().remember('tea');
    expect(lines).toMatchObject([{ level: 'warn', request_id: 'request-1', memory: 'memory' }]);
    instead = null;
    clock.moveTo(clock.now() + 5000);
    await runOf().recall('tea');
    await runOf().recall('tea');
    expect(lines).toMatchObject([{ level: 'warn' }, { level: 'info' }]);
  });

  it('lets later runs start without waiting, until the next attempt is due', async () => {
    await add('I like tea');
    await fails();
    instead = null;
    expect(await runOf().given('tea')).toEqual([]);
    clock.moveTo(clock.now() + 5000);
    expect(await runOf().given('tea')).toHaveLength(1);
  });

  it('is reported by the tools, which do not ask the backend until the next attempt is due', async () => {
    await fails();
    let asked = 0;
    instead = async () => {
      asked++;
      throw DOWN;
    };
    for (const answer of [
      await runOf().remember('tea'),
      await runOf().recall('tea'),
      await runOf().forget('tea'),
    ]) {
      expect(answer.outcome).toBe('unavailable');
      expect(messageOf(answer)).toMatch(/^Memory cannot be reached at the moment\. Nothing was /);
    }
    expect(asked).toBe(0);
    instead = null;
    clock.moveTo(clock.now() + 5000);
    expect((await runOf().remember('tea')).outcome).toBe('done');
  });

  it('delays a message for at most one second, whatever its run asks for', async () => {
    instead = () => new Promise(() => {});
    expect(GIVEN_WAIT_MS + TOOL_WAIT_MS).toBeLessThanOrEqual(1000);
    const run = runOf();
    const answer = run.remember('tea');
    await tick();
    clock.moveTo(clock.now() + TOOL_WAIT_MS);
    expect((await answer).outcome).toBe('unavailable');
    // The pause has ended, but this run has waited once.
    clock.moveTo(clock.now() + 5000);
    expect((await run.recall('tea')).outcome).toBe('unavailable');
  });

  it.each(['remember', 'forget'] as const)(
    'does not say that nothing changed if it may still do so: %s',
    async (tool) => {
      await add('I like tea');
      const answered = Promise.withResolvers<void>();
      memory = new LongTermMemory({
        memories: {
          ...store,
          add: (...given) => answered.promise.then(() => store.add(...given)),
          forget: (...given) => answered.promise.then(() => store.forget(...given)),
        },
        clock,
        log: collectLog().log,
      });
      const answer = runOf()[tool]('tea');
      await tick();
      clock.moveTo(clock.now() + TOOL_WAIT_MS);
      expect(messageOf(await answer)).toContain('It is not known whether this was ');
      answered.resolve();
      await tick();
      expect(await stored()).toEqual(tool === 'remember' ? ['tea', 'I like tea'] : []);
    },
  );

  it('is known to probes, which also find its end', async () => {
    expect(memory.isAvailable).toBe(true);
    await fails();
    expect(memory.isAvailable).toBe(false);
    await memory.check();
    expect(memory.isAvailable).toBe(false);
    instead = null;
    await memory.check();
    expect(memory.isAvailable).toBe(true);
    expect(await runOf().given('tea')).toEqual([]);
    expect(lines).toMatchObject([{ level: 'warn' }, { level: 'info' }]);
  });

  it('is logged as a warning at the start of the daemon', async () => {
    instead = () => Promise.reject(DOWN);
    await memory.check();
    expect(lines).toMatchObject([{ level: 'warn' }]);
  });
});
