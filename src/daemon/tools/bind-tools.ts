import type { ToolStatus } from '../../channel/index.ts';
import type { AgentTool, ToolAnswer } from '../agent/agent.ts';
import { requestContext, withRequestContext } from '../agent/context.ts';
import type { Tool } from '../agent/tools.ts';
import type { AlarmClock } from '../clock.ts';
import type { Log } from '../log.ts';
import { maskTokens } from '../secret.ts';
import { TimeLimit } from '../time-limit.ts';
import type { Trace } from '../trace/trace.ts';
import { checkArguments } from './check-arguments.ts';
import { fitResult } from './fit-result.ts';

/** Tool calls within one run; a model that goes on is told to answer. */
export const MAX_CALLS = 20;
/** Time for one tool call, in ms; the run's own deadline is mostly nearer. */
export const CALL_TIMEOUT_MS = 120_000;
const MAX_MESSAGE_CHARACTERS = 1_000;

export interface ToolProgress {
  tool_name: string;
  status: ToolStatus;
}

/** What of the message that is being answered a bound tool needs. */
export interface ToolRun {
  /** Tells the reader that a call has begun or ended. */
  tool(progress: ToolProgress): void;
  clock: AlarmClock;
  trace: Trace;
  /** Aborts with the run. */
  signal: AbortSignal;
  log: Pick<Log, 'warn'>;
}

/**
 * Binds the tools to one message. Each call is checked, bounded in number, time and size, told to the reader
 * and to the trace, and its answer holds nothing shaped like a token. What goes wrong in a tool becomes an
 * answer in words; a call rejects only when the run's signal aborts.
 *
 * To be called within the request context: the tools keep it, also where a runtime calls them from an event
 * of its own, which has another context or none.
 */
export function bindTools(tools: readonly Tool[], run: ToolRun): AgentTool[] {
  const context = requestContext();
  const inContext: InContext = (work) => (context ? withRequestContext(context, work) : work());
  let calls = 0;
  return tools.map((tool) => ({
    name: tool.name,
    title: null,
    effect: tool.effect,
    confirm: 'never' as const,
    description: tool.description,
    parameters: tool.parameters,
    async call(given: unknown): Promise<ToolAnswer> {
      run.signal.throwIfAborted();
      const started_at = performance.now();
      tell('started');
      const { answer, reason } = await answerOf(tool, given, ++calls, run, inContext).catch(
        (error: unknown) => {
          tell('failed');
          note('failed', 'aborted');
          throw error;
        },
      );
      tell(answer.ok ? 'completed' : 'failed');
      note(answer.ok ? 'ok' : 'failed', reason);
      return answer.ok
        ? { ok: true, result: fitResult(answer.result) }
        : { ok: false, message: maskTokens(answer.message).slice(0, MAX_MESSAGE_CHARACTERS) };

      function tell(status: ToolStatus): void {
        run.tool({ tool_name: tool.name, status });
      }

      function note(verdict: 'ok' | 'failed', why: string | undefined): void {
        const took_ms = Math.round(performance.now() - started_at);
        const detail = { tool: tool.name };
        run.trace.note({
          step: 'tool',
          verdict,
          ...(why === undefined ? {} : { reason: why }),
          detail,
          took_ms,
        });
      }
    },
  }));
}

type InContext = <T>(work: () => T) => T;

interface Outcome {
  answer: ToolAnswer;
  /** A stable word for the trace, where the call did not go through. */
  reason?: string;
}

async function answerOf(
  tool: Tool,
  given: unknown,
  call: number,
  { signal, clock, log }: ToolRun,
  inContext: InContext,
): Promise<Outcome> {
  if (call > MAX_CALLS)
    return failed('too_many_calls', 'No more tool calls in this run: answer with what you have.');
  const checked = checkArguments(tool.parameters, given);
  if (!checked.ok) return failed('invalid_arguments', checked.message);

  const limit = new TimeLimit(clock, CALL_TIMEOUT_MS, signal);
  try {
    const answer = await limit.within(inContext(() => tool.call(checked.args)));
    return answer.ok ? { answer } : { answer, reason: 'tool_failed' };
  } catch (err) {
    signal.throwIfAborted();
    if (limit.passed) return failed('tool_timeout', 'The tool did not answer in time.');
    log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return failed('tool_broken', 'The tool failed for an inner reason.');
  } finally {
    limit.lift();
  }
}

function failed(reason: string, message: string): Outcome {
  return { answer: { ok: false, message }, reason };
}
