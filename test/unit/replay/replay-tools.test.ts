import { expect, it } from 'vitest';
import type { RecordedRun, RecordedToolCall } from '../../../src/daemon/agent/recording.ts';
import { NOT_RECORDED, type ReplayedCall, replayTools } from '../../../src/daemon/replay/replay-tools.ts';
import { Cancellation } from '../../../src/daemon/time/time-limit.ts';
import type { ToolAudience } from '../../../src/daemon/tools/tool.ts';
import { aToolRun, toolOf } from '../../support/tools.ts';

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
