import type { EncodedBody } from './downstream/encoded-body.ts';
import type { CredentialsUsed } from './tool.ts';

/**
 * The HTTP client for one call of a tool. It sends requests to one origin only, adds the credential itself, and writes
 * a line to the trace for each request. It neither reveals a token nor sends it to another origin.
 */
export interface ToolClient {
  /**
   * Makes one request under the policy of the tool. After a 401 to a person's token, it repeats a read with default
   * credentials if the policy allows this. After a 401 to the default token or to an exchanged token, it repeats the
   * request once with a new token. The time and the size of the answer are limited. Redirects are followed only for
   * built-in tools, and only within the origin. Rejects only if the signal of the call aborts.
   */
  request(request: ToolRequest): Promise<ToolResponse>;
  /**
   * `fetch` for a protocol library (MCP). A request carries the credential that was chosen for this call, or none if
   * the policy is `none`. It sets no time limit, and rejects like the global `fetch`. A request to another origin is
   * refused, and a redirect is returned unchanged.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Whose credentials were chosen for this call. */
  readonly credentials: CredentialsUsed;
  /**
   * Identifies the credential without revealing it: two calls have the same identity only if they carry the same
   * credential. A connection that was opened with one credential is never used for another.
   */
  readonly identity: string;
}

export interface ToolRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /**
   * The percent-encoded path below the base URL of the source, with a leading slash. A segment that is empty, `.` or
   * `..` is refused, even if a server reads it so only after decoding it again.
   */
  path: string;
  /** Whether a segment of the path may contain an encoded slash or backslash. Default: it is refused. */
  allow_slash?: boolean;
  /** The query parameters in order. The client percent-encodes them. */
  query?: readonly (readonly [name: string, value: string])[];
  /** The whole query instead of `query`, already percent-encoded, without the question mark. */
  search?: string;
  /** Headers of the daemon and of the connection (allowed-header.ts) and fixed headers of the source are refused. */
  headers?: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. If absent, there is no body. */
  body?: unknown;
  /** Media type of the body, which must be a JSON format. Default: `application/json`. */
  content_type?: string;
  /** A body of another format, instead of `body`. */
  encoded?: EncodedBody;
}

export type ToolResponse =
  | {
      outcome: 'answered';
      credentials: CredentialsUsed;
      status: number;
      body: unknown;
      /** The headers that an agent may need. */
      headers?: Readonly<Record<string, string>>;
    }
  | { outcome: 'sign_in_needed' }
  /** `reached`: the request may have been carried out. */
  | { outcome: 'failed'; reached: boolean; reason: string; message: string };
