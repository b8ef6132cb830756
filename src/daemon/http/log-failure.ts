import type { ServerResponse } from 'node:http';
import { AgentdError } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { Exchange } from './exchange.ts';

/** Logs why a request failed, if an operator can do something about it. */
export function logFailure(
  error: unknown,
  { request_id, address }: Pick<Exchange, 'request_id' | 'address'>,
  res: ServerResponse,
  log: Log,
): void {
  if (error instanceof AgentdError) {
    // A run that failed was logged when its message ended.
    const told = error.code === 'agent_failed' || error.code === 'agent_timeout';
    if (error.status < 500 || error.cause === undefined || told) return;
    log.warn({ request_id, address, code: error.code, err: error }, 'request failed');
  } else if (res.closed && error instanceof Error && error.name === 'AbortError') {
    log.debug({ request_id, address }, 'the handler ended because the client had closed the connection');
  } else {
    log.error({ request_id, address, err: error }, 'unexpected error');
  }
}
