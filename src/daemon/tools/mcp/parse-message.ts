import { type JSONRPCMessage, validateJSONRPCMessage } from '@ai-sdk/mcp';
import { mayBeInexact, parseExactly } from '../../syntax/json.ts';
import { nestsDeeper } from '../nests-deeper.ts';
import { McpFailure } from './mcp-failure.ts';

/** Maximum size of one message of a server, such as an answer or one page of its list of tools, bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;
/** Maximum nesting depth of a message. Recursive functions would run out of stack at greater depths. */
const MAX_DEPTH = 100;

/**
 * Parses a message of a server.
 * @throws McpFailure if the text is not a message, or is nested too deeply.
 */
export function parseMessage(text: string): JSONRPCMessage {
  if (nestsDeeper(text, MAX_DEPTH))
    throw new McpFailure('mcp_too_large', 'The server answered with data that is nested too deeply.');
  try {
    return validateJSONRPCMessage(withExactResult(JSON.parse(text), text));
  } catch {
    // The original error quotes the whole message, which may be very long, so it is not passed on.
    throw new McpFailure('not_mcp', 'The server answered with something that is not MCP.');
  }
}

/**
 * The message. In the result of a tool, numbers that are too large for a JavaScript number are kept exact. Schemas are
 * not changed.
 */
function withExactResult(message: unknown, text: string): unknown {
  const result = resultOf(message);
  if (result === null || !('structuredContent' in result) || !mayBeInexact(text)) return message;
  return { ...(message as object), result: resultOf(parseExactly(text)) };
}

function resultOf(message: unknown): object | null {
  const { result } = (message ?? {}) as { result?: unknown };
  return typeof result === 'object' ? result : null;
}
