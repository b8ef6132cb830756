import type { JSONRPCMessage } from '@ai-sdk/mcp';
import { nestsDeeper } from '../nests-deeper.ts';
import { McpStatus } from './mcp-failure.ts';

interface ProtocolError {
  code: number;
  message: string;
  data?: unknown;
}

const METHOD_UNKNOWN = -32601;
const MAX_DEPTH = 100;

/**
 * The error of the protocol that an HTTP status means: from version 2026-07-28 on, it is in the body of a 400 or 404.
 * Null if the status means something else. A server of an older version answers the question for versions with any
 * status, because the question comes before its handshake.
 */
export function protocolError(failure: Error, request: JSONRPCMessage): ProtocolError | null {
  if (!(failure instanceof McpStatus)) return null;
  const { status, body } = failure;
  if (status === 401 || status === 403) return null;
  const error = errorIn(body);
  if (!('method' in request && request.method === 'server/discover'))
    return status === 400 || status === 404 ? error : null;
  return error ?? (status < 500 ? { code: METHOD_UNKNOWN, message: failure.message } : null);
}

function errorIn(body: string): ProtocolError | null {
  if (nestsDeeper(body, MAX_DEPTH)) return null;
  try {
    const { error } = JSON.parse(body) as { error?: Partial<ProtocolError> };
    const { code, message, data } = error ?? {};
    return Number.isInteger(code) && typeof message === 'string'
      ? { code: code as number, message, data }
      : null;
  } catch {
    // The body is not JSON, so only the status counts.
    return null;
  }
}
