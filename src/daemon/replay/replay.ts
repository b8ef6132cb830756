import type { AgentRuntime, ModelMeter } from '../../agent/index.ts';
import { AgentFailure } from '../agent/agent.ts';
import { maskedCopy, type RecordedRun } from '../agent/recording.ts';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import type { AlarmClock } from '../time/clock.ts';
import { ContextEnded, TimeLimit } from '../time/time-limit.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { Trace } from '../trace/trace.ts';
import { callKey, parseArguments, type ReplayedCall, replayTools } from './replay-tools.ts';

export type { ReplayedCall };

interface ReplayedRun {
  /** The text of the agent. */
  answer: string;
  /** Why the run failed; null if it did not. */
  failure: string | null;
  calls: readonly ReplayedCall[];
  input_tokens: number;
  output_tokens: number;
  took_ms: number;
}

interface ReplayParts {
  /** Made for this run, with the time of the recording. */
  runtime: AgentRuntime;
  registry: ToolRegistry;
  settings: Pick<Settings, 'AGENT_TIMEOUT_SECONDS'>;
  /** They are masked in what the run says, as in the recording. */
  secrets: readonly Secret[];
  live_reads: boolean;
  clock: AlarmClock;
  log: Log;
}

/** Longest answer that is read, in characters. */
const ANSWER_MAX = 100_000;

/**
 * Runs the agent again on a recording. Nothing is sent to anybody, stored, counted or charged to a budget; the model is
 * called, and reads are made if `live_reads`.
 */
export async function replayRun(recorded: RecordedRun, parts: ReplayParts): Promise<ReplayedRun> {
  const { clock, log, registry, live_reads, secrets } = parts;
  const began = performance.now();
  const limit = new TimeLimit(clock, parts.settings.AGENT_TIMEOUT_SECONDS * 1000, []);
  const { signal, deadline } = limit;
  const calls: ReplayedCall[] = [];
  const run = {
    context: null,
    journal: null,
    confirmation: null,
    showPage: null,
    progress: () => {},
    access: registry.access,
    clock,
    limit,
    log,
    trace: new Trace(clock),
  };
  const tools = replayTools(recorded, { tools: registry.tools(), run, live_reads }, calls);
  const { state, ...given } = recorded.given;
  const used = { input_tokens: 0, output_tokens: 0 };
  const turn = {
    ...given,
    session_id: 'replay',
    state: { value: state, set() {} },
    tools,
    meter: meterInto(used),
    reportWrites() {},
    signal,
    deadline,
    log,
  };
  let answer = '';
  let failure: string | null = null;
  try {
    const pieces = parts.runtime.run(turn)[Symbol.asyncIterator]();
    for (;;) {
      const next = await limit.within(pieces.next());
      if (next.done || answer.length > ANSWER_MAX) break;
      answer += next.value;
    }
  } catch (error) {
    failure = limit.passed ? 'agent_timeout' : toReason(error);
    log.debug({ err: error }, 'the replayed run failed');
  } finally {
    limit.end(() => ContextEnded.ofRun());
    limit.lift();
  }
  return maskedCopy(
    { answer, failure, calls, ...used, took_ms: Math.round(performance.now() - began) },
    secrets,
  );
}

function toReason(error: unknown): string {
  return error instanceof AgentFailure ? error.reason : 'runtime_threw';
}

/** Counts the tokens for the report. They count toward nobody's AGENT_DAILY_TOKENS. */
function meterInto(used: { input_tokens: number; output_tokens: number }): ModelMeter {
  return {
    async begin() {
      let isOver = false;
      return {
        ok: true,
        async end({ input_tokens, output_tokens }) {
          if (isOver) return;
          isOver = true;
          used.input_tokens += input_tokens;
          used.output_tokens += output_tokens;
        },
      };
    },
  };
}

/** The calls of a recorded run in the form of a replayed one. */
export function recordedCalls({ tool_calls }: RecordedRun): ReplayedCall[] {
  return tool_calls.map((call) => ({ ...call, args: parseArguments(call.args), from: 'recording' }));
}

/** Which parts of a replayed run differ from the recording: the answer, and the list of calls with their arguments. */
export function differences(
  recorded: RecordedRun,
  replayed: ReplayedRun,
): { answer: boolean; calls: boolean } {
  const keys = (calls: readonly { tool: string; args: unknown }[]) =>
    JSON.stringify(calls.map(({ tool, args }) => callKey(tool, args)));
  const failed = recorded.outcome !== 'answered';
  return {
    answer: recorded.said.trim() !== replayed.answer.trim() || failed !== (replayed.failure !== null),
    calls: keys(recorded.tool_calls) !== keys(replayed.calls),
  };
}
