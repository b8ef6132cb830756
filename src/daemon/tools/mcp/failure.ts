import { type JSONRPCMessage, MCPClientError } from '@ai-sdk/mcp';
import { isObject, jsonObject } from '../../../channel/json-object.ts';
import { nestsDeeper } from '../../syntax/json.ts';
import type { TokenFailureReason } from '../downstream/token-cache.ts';
import type { McpEntry } from '../source-entry.ts';
import type { CredentialsUsed, Sent } from '../tool.ts';

/** Why an MCP server gave no usable answer, as a stable word for the trace. */
type McpFailureReason =
  | 'mcp_unreachable'
  | 'mcp_timeout'
  | 'mcp_redirect'
  | 'mcp_too_large'
  | 'mcp_flood'
  | 'not_mcp'
  | 'mcp_session_changed'
  | 'mcp_refused'
  | 'mcp_ended'
  /** The server no longer knows the session, so it did not carry out the request. */
  | 'mcp_session_gone'
  | `http_${number}`
  | TokenFailureReason;

/** There is no usable answer. `message` is a text for the agent, and `cause` is for the log. */
export class McpFailure extends Error {
  readonly reason: McpFailureReason;
  /** Whether the request may have been carried out. */
  readonly reached: boolean;
  /**
   * What the server said; empty if it said nothing. It may quote a token that was sent, so it is neither a part of the
   * message nor a property, which could be logged.
   */
  readonly #said: string;

  constructor(
    reason: McpFailureReason,
    message: string,
    { reached = true, said = '', ...options }: ErrorOptions & { reached?: boolean; said?: string } = {},
  ) {
    super(message, options);
    this.name = 'McpFailure';
    this.reason = reason;
    this.reached = reached;
    this.#said = said;
  }

  /**
   * The message with what the server said.
   * @param shown the part of it that is shown. Default: all
   */
  inWords(shown: (said: string) => string = (said) => said): string {
    return this.#said === '' ? this.message : `${this.message.replace(/\.$/, '')}: ${shown(this.#said)}`;
  }
}

export function tooMuchData(): McpFailure {
  return new McpFailure('mcp_too_large', 'The server answered with more data than can be used.');
}

/** The server answered a request with an HTTP status that does not mean success. */
export class McpStatus extends McpFailure {
  readonly status: number;
  /** The body of the answer, cut to a limited length. */
  readonly body: string;

  constructor(status: number, body: string) {
    super(`http_${status}`, `The server answered with status ${status}.`);
    this.name = 'McpStatus';
    this.status = status;
    this.body = body;
  }
}

interface ProtocolError {
  code: number;
  message: string;
  data?: unknown;
}

/** JSON-RPC 2.0, section 5.1: the method does not exist. */
export const METHOD_UNKNOWN = -32601;
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
  // If the body is not JSON, only the status counts.
  const { error } = jsonObject(body);
  const { code, message, data } = isObject(error) ? error : {};
  return Number.isInteger(code) && typeof message === 'string'
    ? { code: code as number, message, data }
    : null;
}

/**
 * The outcome of a failed call; null if the error is a defect of the program.
 * @param begun whether the request of the call itself was sent. If not, nothing can have been carried out.
 */
export function sentFailure(
  error: unknown,
  { begun, credentials }: { begun: boolean; credentials: CredentialsUsed },
): Sent | null {
  if (error instanceof McpStatus) {
    const { status, body } = error;
    const isPersonal = credentials === 'user' || credentials === 'exchange';
    if (status === 401 && isPersonal) return { outcome: 'sign_in_needed' };
    if (begun) return { outcome: 'answered', status, result: body };
  }
  if (error instanceof McpFailure) {
    const { reason, reached } = error;
    return { outcome: 'failed', reached: begun && reached, reason, message: error.inWords() };
  }
  if (!MCPClientError.isInstance(error)) return null;
  // The server refused the call itself.
  return { outcome: 'answered', status: null, result: error.message, is_error: true };
}

/** What an administrator can do if the tools of a server cannot be listed. Names the key of the entry that matters. */
export function failureAdvice(failure: unknown, { server, list_credentials }: McpEntry): string {
  if (!('url' in server))
    return 'Run the program of `command` in a terminal. It may need something in `env` of the entry: it gets nothing else but PATH.';
  if (failure instanceof McpStatus) {
    const { status } = failure;
    if (status !== 401 && status !== 403)
      return 'Check the path of the address in `mcp` of the entry, and the log of the server.';
    if (list_credentials === undefined)
      return 'The server lists its tools only with a credential. Set `list_credentials` of the entry (agentd-agent(7), "MCP").';
    return `Check \`${list_credentials}\` of the entry: the server does not accept the listing credential.`;
  }
  if (!(failure instanceof McpFailure)) return 'Check the log of the server.';
  switch (failure.reason) {
    case 'exchange_failed':
    case 'exchange_refused':
      return 'Check `exchange` of the entry, and the log of the authorization server.';
    case 'mcp_redirect':
      return 'Set `mcp` of the entry to the address that the server redirects to.';
    case 'not_mcp':
    case 'mcp_refused':
      return 'Check the address in `mcp` of the entry, and the log of the server.';
    default:
      return 'Check the address in `mcp` of the entry, and that the server runs: try curl from here.';
  }
}
