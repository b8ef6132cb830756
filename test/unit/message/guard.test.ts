import { beforeEach, describe, expect, it } from 'vitest';
import { toGuardLimits } from '../../../src/daemon/guard/verdict.ts';
import { guard, guardedOnArrival } from '../../../src/daemon/message/guard.ts';
import {
  aMessage,
  aTurnOf,
  NO_TOKEN,
  named,
  runStep,
  type StepWorld,
  signedIn,
  stepWorld,
} from '../../support/step.ts';

let world: StepWorld;
const ON = { LOOP_GUARD_ENABLED: 'true', LOOP_GUARD_MAX_TURNS_PER_SESSION: '2' };
beforeEach(async () => {
  world = await stepWorld({ env: ON });
});

let count = 0;
const message = (text = `message ${count++}`, identified = NO_TOKEN) =>
  aTurnOf(world, { ...identified, ...named(null), authorized: true as const, message: aMessage({ text }) });
const turns = async () => (await runStep(world, guard, message())).line.detail?.turns;
const later = () => world.clock.moveTo(world.clock.now() + 11_000);

describe('guard', () => {
  it('allows a message, and writes its counters to the trace', async () => {
    const { turn, line } = await runStep(world, guard, message());
    expect(turn.counted_in).toBe(turn.session_tag);
    expect(line).toMatchObject({ step: 'guard', detail: { messages: 1, equal_texts: 1, turns: 1 } });
  });

  it('blocks the sixth message of a user within ten seconds, and returns the time to wait', async () => {
    world = await stepWorld({ env: { LOOP_GUARD_ENABLED: 'true' } });
    for (let sent = 0; sent < 5; sent++) await runStep(world, guard, message());
    await expect(runStep(world, guard, message())).rejects.toMatchObject({
      code: 'loop_guard_blocked',
      members: { reason: 'rate_limit' },
      retryAfter: 30,
    });
    expect(world.lines).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/CIRCUIT_OPEN reason=rate_limit 6\/5/) },
    ]);
    await runStep(world, guard, message('another person', signedIn('ada')));
  });

  it('blocks a message if its session has had the maximum number of turns, and returns no time to wait', async () => {
    await runStep(world, guard, message());
    await runStep(world, guard, message());
    const refused = { members: { reason: 'turn_limit' }, retryAfter: undefined };
    for (let sent = 0; sent < 2; sent++)
      await expect(runStep(world, guard, message())).rejects.toMatchObject(refused);
    // Only the first of them is logged for operators.
    expect(world.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { msg: expect.stringMatching(/TURN_LIMIT session=\S+ turns=2\/2$/) },
    ]);
  });

  it('takes each limit from its setting', async () => {
    const { services } = await stepWorld({
      env: {
        LOOP_GUARD_MAX_MESSAGES: '11',
        LOOP_GUARD_WINDOW_SECONDS: '12',
        LOOP_GUARD_COOLDOWN_SECONDS: '13',
        LOOP_GUARD_MAX_TURNS_PER_SESSION: '14',
        LOOP_GUARD_REPEAT_THRESHOLD: '15',
        LOOP_GUARD_REPEAT_WINDOW_SECONDS: '16',
        SESSION_TTL_SECONDS: '7200',
      },
    });
    expect(toGuardLimits(services.settings)).toEqual({
      max_messages: 11,
      window_ms: 12_000,
      cooldown_ms: 13_000,
      max_turns: 14,
      repeat_threshold: 15,
      repeat_window_ms: 16_000,
      session_ttl_ms: 7_200_000,
    });
  });

  it('subtracts the turn from the count only if the message failed before the agent ran', async () => {
    const failed = await runStep(world, guard, message());
    await failed.turn.release(true);
    expect(await turns()).toBe(1);
    later();
    const ran = await runStep(world, guard, message());
    await Object.assign(ran.turn, { principal: { person: null, reason: 'no_token' } }).release(true);
    later();
    await expect(turns()).rejects.toMatchObject({ members: { reason: 'turn_limit' } });
  });

  it('subtracts the turn from the count if the message ran in another session', async () => {
    const moved = await runStep(world, guard, message());
    const elsewhere = { principal: { person: null, reason: 'no_token' }, session_tag: 'other' };
    await Object.assign(moved.turn, elsewhere).release(false);
    expect(await turns()).toBe(1);
  });

  it('counts simultaneous requests with one Idempotency-Key once, but each body under it', async () => {
    const request = (text: string) => ({
      ...message(),
      message: aMessage({ text, message_id: 'k', thread_id: 's' }),
    });
    const both = await Promise.all([1, 2].map(() => runStep(world, guard, request('Hello'))));
    expect(both.map(({ turn, line }) => [turn.counted_in !== null, line.reason])).toEqual([
      [true, undefined],
      [false, 'counted_before'],
    ]);
    const { line } = await runStep(world, guard, request('Bye'));
    expect(line).toMatchObject({ detail: { messages: 2 } });
  });

  it('checks nothing if it is turned off', async () => {
    world = await stepWorld();
    for (let sent = 0; sent < 20; sent++) {
      const { line } = await runStep(world, guard, message('the same'));
      expect(line.reason).toBe('guard_off');
    }
  });
});

describe('guard, for a message that was already checked on arrival,', () => {
  it('counts nothing, and subtracts the turn from the count if the message fails before the agent runs', async () => {
    const { counted_in } = (await runStep(world, guard, message())).turn;
    const { turn, line } = await runStep(world, guardedOnArrival, { ...message(), counted_in });
    expect(line.reason).toBe('checked_on_arrival');
    await turn.release(true);
    expect(await turns()).toBe(1);
  });

  it('subtracts the turn from the count if the message runs in a different session', async () => {
    const { counted_in } = (await runStep(world, guard, message())).turn;
    const moved = { ...message(), ...named(null), session_tag: 'another session', counted_in };
    const { turn } = await runStep(world, guardedOnArrival, moved);
    Object.assign(turn, { principal: { person: null, reason: 'no_token' } });
    await turn.release(false);
    expect(await turns()).toBe(1);
  });
});
