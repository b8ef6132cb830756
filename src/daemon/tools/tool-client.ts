import type { CredentialsUsed } from './tool.ts';

/**
 * The HTTP client for one call of a tool. It sends requests to one origin only, adds the credential itself, follows no
 * redirects, limits the time and the size of the answer, and writes a line to the trace. A token can neither be read
 * from it nor be sent to another origin.
 */
export interface ToolClient {
  /**
   * Makes one request under the policy of the tool: after a 401 to a person's token it repeats a read with default
   * credentials if the policy allows this; after a 401 to the default token it gets a new one, once.
   * Rejects only if the signal of the call aborts.
   */
  request(request: ToolRequest): Promise<ToolResponse>;
  /**
   * `fetch` for a protocol library (MCP): one request with the credential that was chosen for this call, none if the
   * policy is `none`. It has no time limit. Rejects as `fetch` does; a request to another origin is refused, and a
   * redirect is returned as it is.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Whose credentials were chosen for this call. */
  readonly credentials: CredentialsUsed;
  /**
   * Identifies the credential without revealing it: equal for two calls only if they carry the same credential. A
   * connection that was opened with one credential is never used for another.
   */
  readonly identity: string;
}

export interface ToolRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /**
   * Below the base URL of the source, with a leading slash, percent-encoded. A segment that is empty, `.` or `..` is
   * refused.
   */
  path: string;
  /** In order; already serialized by the style of each parameter. */
  query?: readonly (readonly [name: string, value: string])[];
  /** The whole query instead of `query`, already percent-encoded, without the question mark. */
  search?: string;
  /** Without `Authorization`, `Cookie`, `Host` and hop-by-hop headers, which are refused. */
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. If absent, there is no body. */
  body?: unknown;
  /** Media type of the body, which must be written as JSON. Default: `application/json`. */
  content_type?: string;
}

export type ToolResponse =
  | { outcome: 'answered'; credentials: CredentialsUsed; status: number; body: unknown }
  | { outcome: 'sign_in_needed' }
  /** `reached`: the request may have been carried out. */
  | { outcome: 'failed'; reached: boolean; reason: string; message: string };
