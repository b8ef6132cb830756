import { describe, expect, it } from 'vitest';
import type { AgentRuntime, AgentTurn, ModelMeter } from '../../../src/agent/index.ts';
import type { RecordedRun, RecordedToolCall } from '../../../src/daemon/agent/recording.ts';
import { replayRun } from '../../../src/daemon/replay/replay.ts';
import { NOT_RECORDED, type ReplayedCall, replayTools } from '../../../src/daemon/replay/replay-tools.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { type AlarmClock, systemClock } from '../../../src/daemon/time/clock.ts';
import { Cancellation } from '../../../src/daemon/time/time-limit.ts';
import type { ToolRegistry } from '../../../src/daemon/tools/registry.ts';
import type { ToolAudience } from '../../../src/daemon/tools/tool.ts';
import { signToken } from '../../support/fake-api.ts';
import { collectLog } from '../../support/log-lines.ts';
import { accessTo, aToolRun, toolOf } from '../../support/tools.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const recordedCall = (tool: string, id: number, result: string): RecordedToolCall => {
  return { tool, effect: 'read', args: { id }, answer: { ok: true, result } };
};

/** The tools of a replayed run: `look` reads, `cancel` and `pay` write, and `pay` must be confirmed. */
function replay(tool_calls: RecordedToolCall[], live_reads: boolean, members: object = {}) {
  const parameters = { type: 'object', properties: { id: { type: 'integer' } }, additionalProperties: false };
  const made: string[] = [];
  const named = (name: string, rest: object) => {
    const send = async () => {
      made.push(name);
      return { outcome: 'answered' as const, status: 200, result: 'live' };
    };
    return toolOf({ name, parameters, public: 'all', send, ...rest });
  };
  const tools = [
    named('look', {}),
    named('cancel', { effect: 'write', confirm: 'never' }),
    named('pay', { effect: 'write', confirm: 'always' }),
    named('recall', { offered: ({ memory_of, shared }: ToolAudience) => memory_of !== null && !shared }),
  ];
  const calls: ReplayedCall[] = [];
  const limit = new Cancellation();
  const recorded = { tool_calls, tools: [], given: { shared: false }, ...members } as unknown as RecordedRun;
  const run = aToolRun({ limit } as never);
  const offered = replayTools(recorded, { tools, run, live_reads }, calls);
  const call = (name: string, id: number) => offered.find((tool) => tool.name === name)?.call({ id });
  return { call, calls, made, limit, offered: offered.map(({ name }) => name) };
}

it('gives recorded answers, of several equal calls each the next one, and the last one again', async () => {
  const { call, made } = replay(
    [recordedCall('look', 1, 'a'), recordedCall('look', 1, 'b'), recordedCall('cancel', 1, 'cancelled')],
    true,
  );
  const answers = [];
  for (let time = 0; time < 3; time++) answers.push(await call('look', 1));
  expect(answers).toEqual(['a', 'b', 'b'].map((result) => ({ ok: true, result })));
  expect(await call('cancel', 1)).toEqual({ ok: true, result: 'cancelled' });
  expect(made).toEqual([]);
});

it('never makes a write that was not recorded: it is held, or waits for the person', async () => {
  for (const live_reads of [true, false]) {
    const { call, calls, made } = replay([], live_reads);
    expect(await call('cancel', 1)).toMatchObject({ ok: false, message: expect.stringContaining('held') });
    expect(await call('pay', 1)).toMatchObject({ ok: true, result: { waits_for_confirmation: true } });
    expect(calls.map(({ from }) => from)).toEqual(['held', 'held']);
    expect(made).toEqual([]);
  }
});

it('makes reads that were not recorded only if it is asked to', async () => {
  const asked = replay([], true);
  expect(await asked.call('look', 1)).toMatchObject({ ok: true, result: 'live' });
  const not = replay([], false);
  expect(await not.call('look', 1)).toEqual({ ok: false, message: NOT_RECORDED });
  expect([asked.made, not.made]).toEqual([['look'], []]);
});

it('offers the memory only if the recorded run was offered it', () => {
  const tools = [{ name: 'recall' }];
  expect(replay([], true).offered).toEqual(['look', 'cancel', 'pay']);
  expect(replay([], true, { tools }).offered).toContain('recall');
  expect(replay([], true, { tools, given: { shared: true } }).offered).not.toContain('recall');
});

it('answers no call after the run has ended', async () => {
  const { call, limit } = replay([recordedCall('look', 1, 'a')], false);
  limit.end(() => new Error('the run has ended'));
  await expect(call('look', 1)).rejects.toThrow('the run has ended');
});

describe('a replayed run', () => {
  type Turn = AgentTurn & { meter: ModelMeter };

  async function runOf(run: (turn: Turn) => AsyncIterable<string>, clock: AlarmClock = systemClock) {
    const recorded = { tools: [], tool_calls: [], given: { shared: false, state: null } };
    return replayRun(recorded as unknown as RecordedRun, {
      runtime: { name: 'test', run } as unknown as AgentRuntime,
      registry: { tools: () => [], access: accessTo(undefined) } as unknown as ToolRegistry,
      ...{ settings: { AGENT_TIMEOUT_SECONDS: 60 }, secrets: [new Secret('key-of-the-shop')] },
      ...{ live_reads: false, clock, log: collectLog().log },
    });
  }

  it('says no token and no secret, and its tokens count once', async () => {
    const { answer, input_tokens, output_tokens } = await runOf(async function* ({ meter }) {
      const call = await meter.begin({ model: 'm', prompt_tokens: 1 });
      const used = { input_tokens: 3, output_tokens: 4, finish_reason: 'stop' };
      if (call.ok) for (let time = 0; time < 2; time++) await call.end(used);
      yield `The key-of-the-shop and ${signToken({ sub: 'ada' }, 'x'.repeat(32))}`;
    });
    expect(answer).toBe('The [secret] and [token]');
    expect([input_tokens, output_tokens]).toEqual([3, 4]);
  });

  it('ends with its time, and with an answer that does not end', async () => {
    const clock = new VirtualClock(0);
    let signal: AbortSignal | undefined;
    const hanging = runOf(async function* (turn) {
      signal = turn.signal;
      yield 'I think';
      clock.moveTo(60_000);
      await new Promise(() => {});
    }, clock);
    expect(await hanging).toMatchObject({ answer: 'I think', failure: 'agent_timeout' });
    expect(signal?.aborted).toBe(true);
    const endless = await runOf(async function* (turn) {
      signal = turn.signal;
      for (;;) yield 'x'.repeat(60_000);
    });
    expect(endless).toMatchObject({ answer: 'x'.repeat(120_000), failure: null });
    expect(signal?.aborted).toBe(true);
  });
});
