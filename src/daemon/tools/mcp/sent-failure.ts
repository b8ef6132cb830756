import { MCPClientError } from '@ai-sdk/mcp';
import type { CredentialsUsed, Sent } from '../tool.ts';
import { McpFailure, McpSessionGone, McpStatus } from './mcp-failure.ts';

/**
 * The outcome of a failed call; null if the error is a defect of the program.
 * @param begun whether the request of the call itself was sent. If not, nothing can have been carried out.
 */
export function sentFailure(
  error: unknown,
  { begun, credentials }: { begun: boolean; credentials: CredentialsUsed },
): Sent | null {
  if (error instanceof McpStatus) {
    const { status, body, message } = error;
    const isPersonal = credentials === 'user' || credentials === 'exchange';
    if (status === 401 && isPersonal) return { outcome: 'sign_in_needed' };
    return begun
      ? { outcome: 'answered', status, result: body }
      : { outcome: 'failed', reached: false, reason: `http_${status}`, message };
  }
  if (error instanceof McpSessionGone)
    return { outcome: 'failed', reached: false, reason: 'mcp_session_gone', message: error.message };
  if (error instanceof McpFailure) {
    const { reason, message, reached } = error;
    return { outcome: 'failed', reached: begun && reached, reason, message };
  }
  if (!MCPClientError.isInstance(error)) return null;
  // The server refused the call itself.
  return { outcome: 'answered', status: null, result: error.message, is_error: true };
}
