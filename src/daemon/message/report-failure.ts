import { AgentdError, type ErrorCode } from '../errors.ts';
import { describeTurn } from './describe-turn.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/** Codes that need the attention of an operator. */
const DEFECTS: readonly ErrorCode[] = ['internal_error', 'agent_failed', 'agent_timeout'];

/** Logs why a message was not answered. @returns the error code. */
export function reportFailure(turn: Arrived, error: unknown, services: Services): ErrorCode {
  const code = error instanceof AgentdError ? error.code : 'internal_error';
  const line = { ...describeTurn(turn, services), code };
  if (DEFECTS.includes(code)) services.log.error({ ...line, err: error }, 'message failed');
  // The guard logs when it begins to block. One more line for each blocked message would flood the log.
  else if (code === 'loop_guard_blocked') services.log.debug(line, 'message refused');
  else services.log.info({ ...line, err: error }, 'message refused');
  return code;
}
