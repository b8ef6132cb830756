import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { ClaimLost } from '../../../src/daemon/store/failures.ts';
import type { AskOutcome, ConfirmationDesk } from '../../../src/daemon/tools/confirmation/desk.ts';
import { type ConfirmedCall, executeConfirmed } from '../../../src/daemon/tools/confirmed-call.ts';
import type {
  CallJournal,
  KnownWrite,
  WriteOutcome,
} from '../../../src/daemon/tools/journal/turn-journal.ts';
import type { ToolProgress } from '../../../src/daemon/tools/perform-call.ts';
import type { Sent, Tool } from '../../../src/daemon/tools/tool.ts';
import { contextOf, sessionOf } from '../../support/request-context.ts';
import { aToolRun, bindOne, type RunOptions, sourceOf, toolOf } from '../../support/tools.ts';

// These tests check in which order a call uses the journal and the confirmation desk, before and after it is sent.

const action_id = 'action-1';
const fresh: KnownWrite = { state: 'new', action_id, further: false };

interface Scene {
  tool?: Partial<Tool>;
  known?: KnownWrite | Error;
  started?: 'started' | 'lost' | Error;
  sent?: Sent | Error;
  finish?: Error;
  asked?: AskOutcome;
  wroteForOthers?: boolean;
  run?: RunOptions;
}

const done: Sent = { outcome: 'answered', status: 200, result: { n: 1 } };

function scene({
  tool: rest,
  known = fresh,
  started = 'started',
  sent = done,
  finish,
  asked,
  wroteForOthers = false,
  run,
}: Scene = {}) {
  const events: unknown[] = [];
  const orThrow = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const journal: CallJournal = {
    async known({ args }) {
      events.push(['known', args]);
      return orThrow(known);
    },
    wroteLately: async () => false,
    wroteForOthers: () => wroteForOthers,
    async start(action_id, { again }) {
      events.push(['start', action_id, again]);
      return orThrow(started);
    },
    async finish(action_id, outcome: WriteOutcome) {
      events.push(['finish', action_id, outcome.state, outcome.status, outcome.answer?.ok ?? null]);
      if (finish) throw finish;
    },
  };
  const confirmation: Pick<ConfirmationDesk, 'ask'> = {
    async ask({ args }) {
      events.push(['ask', args]);
      return asked ?? { outcome: 'waits', replaces: false };
    },
  };
  const tool = toolOf({
    name: 'cancel',
    source: sourceOf({ base_url: 'https://shop.example.com' }),
    effect: 'write',
    parameters: { type: 'object', properties: { id: { type: 'string' } }, additionalProperties: false },
    async send(args, { idempotency_key }) {
      events.push(['send', args, idempotency_key]);
      return orThrow(sent);
    },
    ...rest,
  });
  const bound = bindOne(tool, { journal, confirmation, ...run });
  return {
    ...bound,
    tool,
    events,
    journal,
    confirmation,
    call: (args: object = { id: 'A' }) => bound.bound.call(args),
  };
}

const names = (events: unknown[]) => events.map((event) => (event as unknown[])[0]);

test('a write is looked up in the journal, recorded, and sent under its id, and then its outcome is recorded', async () => {
  const { call, events } = scene();
  expect(await call()).toEqual({ ok: true, result: { n: 1 } });
  expect(events).toEqual([
    ['known', { id: 'A' }],
    ['start', 'action-1', false],
    ['send', { id: 'A' }, 'action-1'],
    ['finish', 'action-1', 'done', 200, true],
  ]);
});

test('a read is not recorded and gets no key', async () => {
  const { call, events } = scene({ tool: { effect: 'read' } });
  await call();
  expect(events).toEqual([['send', { id: 'A' }, null]]);
});

test('a call that is invalid or needs sign-in is refused before the journal is read', async () => {
  for (const tool of [{ credentials: 'user' }, { bind: { customer: 'sub' } }] as const) {
    const { call, events } = scene({ tool });
    expect(await call()).toMatchObject({ ok: false });
    expect(events).toEqual([]);
  }
  const { call, events } = scene();
  await call({ id: 7 });
  expect(events).toEqual([]);
});

test.each(['always', 'never'] as const)(
  'a call with arguments that cannot be sent is refused before it is confirmed or recorded (confirm: %s)',
  async (confirm) => {
    const unusable = ({ id }: { id?: unknown }) => (id === '' ? 'The argument `id` cannot be empty.' : null);
    const { call, events } = scene({ tool: { confirm, unusable } });
    expect(await call({ id: '' })).toEqual({ ok: false, message: 'The argument `id` cannot be empty.' });
    expect(events).toEqual([]);
    await call();
    expect(events).not.toEqual([]);
  },
);

describe('the outcome that the journal records', () => {
  test.each<[string, Sent | Error, string, number | null]>([
    ['a 2xx: done', done, 'done', 200],
    ['an answer without a status: done', { outcome: 'answered', status: null, result: 'x' }, 'done', null],
    ['a 4xx: failed', { outcome: 'answered', status: 409, result: null }, 'failed', 409],
    ['a 5xx: unknown', { outcome: 'answered', status: 502, result: null }, 'unknown', 502],
    [
      'a request that was not sent: failed',
      { outcome: 'failed', reached: false, reason: 'unreachable', message: 'x' },
      'failed',
      null,
    ],
    [
      'a broken connection: unknown',
      { outcome: 'failed', reached: true, reason: 'unreachable', message: 'x' },
      'unknown',
      null,
    ],
    ['a call that needs sign-in: failed', { outcome: 'sign_in_needed' }, 'failed', 401],
    [
      'a tool that reports a failure: failed',
      { outcome: 'answered', status: null, result: 'x', is_error: true },
      'failed',
      null,
    ],
    ['a tool that throws: unknown', new Error('x'), 'unknown', null],
  ])('for %s', async (_, sent, state, status) => {
    const { call, events } = scene({ sent });
    const answer = await call();
    expect(events.at(-1)).toEqual(['finish', 'action-1', state, status, answer.ok]);
    // A call that may have been carried out must not be described as failed.
    const isInDoubt = !answer.ok && answer.message.includes('It is not known whether this was done.');
    expect(isInDoubt).toBe(state === 'unknown');
  });

  test('for a run that ends during a call: unknown', async () => {
    const controller = new AbortController();
    const { call, events } = scene({
      tool: { send: () => new Promise(() => controller.abort(new Error('deadline'))) },
      run: { signal: controller.signal },
    });
    await expect(call()).rejects.toThrow('deadline');
    expect(events.at(-1)).toEqual(['finish', 'action-1', 'unknown', null, null]);
  });
});

describe('a repeated run', () => {
  test('is not told that nothing was done if the person of an earlier run has signed out since', async () => {
    const source = sourceOf({ base_url: 'https://shop.example.com', credentials: 'user' });
    for (const wroteForOthers of [false, true]) {
      const { call, events } = scene({ tool: { credentials: 'user', source }, wroteForOthers });
      const { message } = (await call()) as { message: string };
      expect(message).toContain('Sign-in is needed');
      expect(message.includes('nothing was done')).toBe(!wroteForOthers);
      expect(events).toEqual([]);
    }
  });
});

describe('a call that needs confirmation', () => {
  test('is not made: the person is asked, with the arguments that the model chose', async () => {
    const { call, events, lines } = scene({ tool: { confirm: 'always' } });
    expect(await call()).toMatchObject({ ok: true, result: { waits_for_confirmation: true } });
    expect(events.at(-1)).toEqual(['ask', { id: 'A' }]);
    expect(names(events)).not.toContain('send');
    expect(lines()).toEqual([['ok', 'waits_for_confirmation']]);
  });

  test('is not reported to the reader, who would take it for made', async () => {
    const waiting = scene({ tool: { confirm: 'always' } });
    await waiting.call();
    expect(waiting.statuses).toEqual([]);
    const made = scene();
    await made.call();
    expect(made.statuses).toEqual(['started', 'completed']);
    const refused = scene({ tool: { credentials: 'user' } });
    await refused.call();
    expect(refused.statuses).toEqual(['started', 'failed']);
  });

  test('is reported with the title of its tool', async () => {
    const reportsOf = async (rest: Partial<Tool>) => {
      const reports: ToolProgress[] = [];
      await scene({
        tool: { title: 'Cancel', ...rest },
        run: { progress: (one) => void reports.push(one) },
      }).call();
      return reports;
    };
    const named = { tool_name: 'cancel', title: 'Cancel' };
    expect(await reportsOf({ credentials: 'none' })).toEqual([
      { ...named, status: 'started' },
      { ...named, status: 'completed' },
    ]);
  });

  test('is reported as started before it is sent', async () => {
    const atSend: string[][] = [];
    const { call, statuses } = scene({
      tool: {
        async send() {
          atSend.push([...statuses]);
          return done;
        },
      },
    });
    await call();
    expect(atSend).toEqual([['started']]);
  });

  test('is reported to the model as failed if the confirmation desk refuses it', async () => {
    const asked: AskOutcome = { outcome: 'refused', reason: 'one_is_pending', message: 'One at a time.' };
    const { call, lines } = scene({ tool: { confirm: 'always' }, asked });
    expect(await call()).toEqual({ ok: false, message: 'One at a time.' });
    expect(lines()).toEqual([['failed', 'one_is_pending']]);
  });

  test('is not made if nobody can be asked', async () => {
    const { call, events } = scene({ tool: { confirm: 'always' }, run: { confirmation: null } });
    expect(await call()).toMatchObject({ ok: false });
    expect(names(events)).not.toContain('send');
  });

  test('can be a read', async () => {
    const { call, events } = scene({ tool: { effect: 'read', confirm: 'always' } });
    await call();
    expect(names(events)).toEqual(['ask']);
  });
});

describe('a journal that fails', () => {
  test.each<[string, Scene]>([
    ['cannot be read', { known: new Error('disk') }],
    ['cannot be written', { started: new Error('disk') }],
    ['has lost its claim', { started: 'lost' }],
  ])('%s: no call is sent', async (_, given) => {
    const { call, events } = scene(given);
    expect(await call()).toMatchObject({ ok: false });
    expect(names(events)).not.toContain('send');
  });

  test('cannot record an outcome: the agent still gets the outcome, and a warning is logged', async () => {
    const { call, logged } = scene({ finish: new Error('disk') });
    expect(await call()).toMatchObject({ ok: true });
    expect(logged.lines).toMatchObject([
      { level: 'warn', msg: 'the outcome of a write could not be recorded', action_id: 'action-1' },
    ]);
  });
});

describe('a confirmed call', () => {
  const confirmed = { action_id: 'action-9', tool: 'cancel', args: { id: 'A' }, again: false };
  const execute = (
    { tool, events, journal, confirmation, trace, logged }: ReturnType<typeof scene>,
    {
      context = null,
      again = false,
      begin = async () => events.push(['begin']) > 0,
    }: Pick<RunOptions, 'context'> & Partial<Pick<ConfirmedCall, 'begin' | 'again'>> = {},
  ) => {
    const run = aToolRun({ context, trace, log: logged.log, journal, confirmation });
    return executeConfirmed([tool], { ...confirmed, again, begin }, run);
  };

  test('is made as it was stored, once, under the id of its action, and its outcome is recorded', async () => {
    const made = scene({ tool: { confirm: 'always' } });
    expect(await execute(made)).toEqual({ outcome: 'made', answer: { ok: true, result: { n: 1 } } });
    expect(made.events).toEqual([
      ['begin'],
      ['send', { id: 'A' }, 'action-9'],
      ['finish', 'action-9', 'done', 200, true],
    ]);
  });

  test('uses the credentials that the person has when confirming, and fails without being sent if there are none', async () => {
    const made = scene({ tool: { confirm: 'always', credentials: 'user' } });
    const context = contextOf(sessionOf('s', 'u', null));
    expect(await execute(made, { context })).toMatchObject({ answer: { ok: false } });
    expect(made.events).toEqual([['begin'], ['finish', 'action-9', 'failed', null, false]]);
  });

  test('is not made again with other arguments, and its outcome stays unknown', async () => {
    const source = sourceOf({ base_url: 'https://shop.example.com', credentials: 'user' });
    const bound = { credentials: 'user', bind: { customer: 'sub' } } as const;
    const made = scene({ tool: { source, confirm: 'always', ...bound } });
    const user = { sub: 'ada', email: 'ada@example.com', token: 't' };
    const context = contextOf(sessionOf('s', 'u', user));
    const call = { tool: made.tool, args: { id: 'A', customer: 'ada' } };
    expect(await execute(made, { context })).toEqual({ outcome: 'changed', call });
    expect(made.events).toEqual([]);
    expect(await execute(made, { context, again: true })).toMatchObject({
      outcome: 'made',
      answer: { ok: false },
    });
    expect(made.events).toEqual([['finish', 'action-9', 'unknown', null, false]]);
  });

  test.each([new ClaimLost(), new StoreUnavailable(new Error('disk'))])(
    'is not made if its begin cannot be recorded, and the run fails: %s',
    async (error) => {
      const made = scene({ tool: { confirm: 'always' } });
      await expect(execute(made, { begin: () => Promise.reject(error) })).rejects.toBe(error);
      expect(made.events).toEqual([]);
    },
  );

  test('is not made if its tool no longer exists', async () => {
    const made = scene({ tool: { name: 'other' } });
    expect(await execute(made)).toEqual({
      outcome: 'made',
      answer: { ok: false, message: expect.stringContaining('the tool no longer exists') },
    });
    expect(made.events).toEqual([['begin'], ['finish', 'action-9', 'failed', null, false]]);
  });
});
