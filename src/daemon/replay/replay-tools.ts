import type { AgentTool, ToolAnswer } from '../../agent/index.ts';
import type { RecordedRun, RecordedToolCall } from '../agent/recording.ts';
import { bindTools, WAITS_FOR_PERSON } from '../tools/bind-tools.ts';
import type { ToolRun } from '../tools/perform-call.ts';
import { canonicalJson, readArguments } from '../tools/schema/read-arguments.ts';
import type { Tool } from '../tools/tool.ts';

/** A call of a replayed run. `held`: a write that was not recorded; it was not made. */
export interface ReplayedCall extends RecordedToolCall {
  from: 'recording' | 'live' | 'not_recorded' | 'held';
}

/** The answer to a read that nothing was recorded for. */
export const NOT_RECORDED = 'not recorded';

interface ReplayToolsParts {
  tools: readonly Tool[];
  /** For live reads: without a person, a journal, and anybody to ask. */
  run: Omit<ToolRun, 'audience'>;
  /** Whether reads that were not recorded are made, with default credentials. */
  live_reads: boolean;
}

/**
 * The tools of a replayed run: those of the settings that the recorded run would have been offered now. A recorded call
 * gets its recorded answer; of several equal calls each the next one. A write is never made.
 * @param calls gets each call
 */
export function replayTools(
  recorded: RecordedRun,
  { tools, run, live_reads }: ReplayToolsParts,
  calls: ReplayedCall[],
): AgentTool[] {
  const hadMemory = recorded.tools.some(({ name }) => name === 'recall');
  const audience = { memory_of: hadMemory ? 'replay' : null, shared: recorded.given.shared };
  const recordedCalls = new RecordedCalls(recorded.tool_calls);
  return bindTools(tools, { ...run, audience }).map((tool) => ({
    ...tool,
    async call(given: unknown) {
      run.limit.throwIfEnded();
      const known = recordedCalls.next(tool.name, given)?.answer ?? null;
      const isLive = known === null && live_reads && tool.effect === 'read';
      const answer = known ?? (isLive ? await tool.call(given) : answerUnrecorded(tool));
      const from =
        known !== null ? 'recording' : isLive ? 'live' : tool.effect === 'write' ? 'held' : 'not_recorded';
      calls.push({ tool: tool.name, effect: tool.effect, args: parseArguments(given), answer, from });
      return answer;
    },
  }));
}

/** The arguments as an object, also if the agent gave them as a text. */
export function parseArguments(given: unknown): unknown {
  const read = readArguments(given);
  return read.ok ? read.args : given;
}

export function callKey(tool: string, args: unknown): string {
  return canonicalJson([tool, parseArguments(args) ?? {}]);
}

/** The recorded calls of a run: of several equal calls each the next one, and the last one again. */
export class RecordedCalls<Call extends { tool: string; args: unknown }> {
  readonly #left: ReadonlyMap<string, Call[]>;

  constructor(recorded: readonly Call[]) {
    this.#left = Map.groupBy(recorded, ({ tool, args }) => callKey(tool, args));
  }

  /** Null if the call was not recorded. */
  next(tool: string, args: unknown): Call | null {
    const left = this.#left.get(callKey(tool, args));
    return (left && left.length > 1 ? left.shift() : left?.[0]) ?? null;
  }
}

function answerUnrecorded({ effect, confirm }: AgentTool): ToolAnswer {
  if (effect === 'read') return { ok: false, message: NOT_RECORDED };
  if (confirm === 'never')
    return { ok: false, message: 'The call was held: writes are not made when a run is replayed.' };
  return { ok: true, result: { waits_for_confirmation: true, message: WAITS_FOR_PERSON } };
}
