import { AgentFailure, requestedWait } from '../../agent/agent.ts';
import { AgentdError, daemonStopping } from '../../errors.ts';
import { ClaimLost } from '../../store/failures.ts';
import { sourceLocation } from '../../syntax/source-location.ts';
import type { TimeLimit } from '../../time/time-limit.ts';
import type { StepLine } from '../../trace/trace-record.ts';
import type { RunServices } from '../services.ts';
import type { Answering } from '../turn.ts';

/** Returns the error for the sender of a message whose run failed, and writes the cause to the line of the trace. */
export function toRunFailure(
  error: unknown,
  { lost }: Answering,
  { stopping }: RunServices,
  limit: TimeLimit,
  line: StepLine,
): AgentdError {
  if (lost.hasEnded) {
    line.reason = 'claim_lost';
    return new ClaimLost();
  }
  if (limit.passed) {
    return new AgentdError('agent_timeout', 'The agent took too long to answer.', { cause: error });
  }
  if (stopping.aborted) {
    line.reason = 'stopping';
    return daemonStopping();
  }
  if (error instanceof AgentdError) return error;
  if (error instanceof AgentFailure) {
    line.reason = error.reason;
    line.detail = error.detail;
  } else {
    line.reason = 'runtime_threw';
    line.detail = thrownDetail(error);
  }
  const retryAfter = requestedWait(error);
  return new AgentdError('agent_failed', 'The agent could not answer.', {
    cause: error,
    ...(retryAfter === 0 ? {} : { retryAfter }),
  });
}

/**
 * The location where a runtime threw, for the author of the runtime. The error message is left out, because it may
 * quote what a person wrote.
 */
function thrownDetail(error: unknown): { error: string; at?: string } {
  const at = sourceLocation(error);
  return { error: error instanceof Error ? error.name : typeof error, ...(at === null ? {} : { at }) };
}
