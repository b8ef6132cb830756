import type { TokenExchangeReason } from '../downstream/token-exchange.ts';

/** Why an MCP server gave no usable answer, as a stable word for the trace. */
export type McpFailureReason =
  | 'mcp_unreachable'
  | 'mcp_timeout'
  | 'mcp_redirect'
  | 'mcp_too_large'
  | 'mcp_flood'
  | 'not_mcp'
  | 'mcp_session_changed'
  | 'mcp_refused'
  | 'mcp_ended'
  | TokenExchangeReason;

/** There is no usable answer. `message` is a text for the agent, and `cause` is for the log. */
export class McpFailure extends Error {
  readonly reason: McpFailureReason;
  /** Whether the request may have been carried out. */
  readonly reached: boolean;

  constructor(
    reason: McpFailureReason,
    message: string,
    { reached = true, ...options }: ErrorOptions & { reached?: boolean } = {},
  ) {
    super(message, options);
    this.name = 'McpFailure';
    this.reason = reason;
    this.reached = reached;
  }
}

/** The server answered a request with an HTTP status that does not mean success. */
export class McpStatus extends Error {
  readonly status: number;
  /** The body of the answer, cut to a limited length. */
  readonly body: string;

  constructor(status: number, body: string) {
    super(`The server answered with status ${status}.`);
    this.name = 'McpStatus';
    this.status = status;
    this.body = body;
  }
}

/** The server no longer knows the MCP session, so it did not carry out the request. */
export class McpSessionGone extends Error {
  constructor() {
    super('The server has ended the session.');
    this.name = 'McpSessionGone';
  }
}
