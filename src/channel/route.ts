/**
 * Maximum `bodyLimit` of a route, bytes. BODY_LIMIT_BYTES does not raise it: the platforms send no larger bodies.
 */
export const BODY_LIMIT_MAX = 4_194_304;

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path, for example `/telex/webhook`. Parameters are written as `:name`. */
  path: string;
  /**
   * The only content type that is accepted, for example `application/json`. A request with another type gets 415. If
   * absent, any type is accepted.
   */
  contentType?: string;
  /**
   * `multipart`: the only content type that is accepted is `multipart/form-data`, and `request.multipart()` reads it.
   * Leave `contentType` out then.
   */
  body?: 'multipart';
  /**
   * Largest body in bytes, at most 4 MiB. Set it if the platform sends webhooks that are larger than
   * `BODY_LIMIT_BYTES`. A value below that setting has no effect, but with any value the limit is at most 4 MiB. Only a few of these large bodies are processed at the
   * same time. Further requests get `unavailable`, so that the platform sends them again, and a slow sender is
   * disconnected to make room for the next request. Default: `BODY_LIMIT_BYTES`.
   */
  bodyLimit?: number;
  /** Whether pages of `WEBCHAT_ALLOWED_ORIGINS` may call the route. */
  cors?: boolean;
  /**
   * Whether requests count toward the rate limit: per person if `token` returns a valid token, otherwise per client
   * address. Leave it out for webhooks, which all come from the addresses of the platform.
   */
  limited?: boolean;
  /** The user token in the request, from the first source that has one. It is validated once per request. */
  token?(request: ChannelRequest): string | null | undefined;
  /**
   * Returns the body of every error response of the route, including the errors that the daemon itself raises. Use it
   * if the documented errors of the route are not problem documents. Status and headers do not change.
   */
  refusal?(problem: RouteProblem): object;
  /**
   * Headers of every response to this request, including refusals. If this function throws a problem, for example
   * because the body is not JSON, the error response has none of these headers.
   */
  headers?(request: ChannelRequest): NonNullable<ChannelResponse['headers']>;
  /** The thread that the request names, or null. Messages of one thread are processed in order of arrival. */
  thread?(request: ChannelRequest): string | null;
  handle(request: ChannelRequest): Promise<ChannelResponse> | ChannelResponse;
}

/** The content of a problem document. */
export interface RouteProblem {
  status: number;
  code: string;
  detail: string;
}

export interface ChannelRequest {
  /** The request id, as in `X-Request-Id` and on every log line. */
  id: string;
  method: string;
  path: string;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Names in lower case. Repeated headers are joined by `, `. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The exact bytes, so that a signature can be checked. At most `bodyLimit` bytes. */
  body: Uint8Array;
  /** The body as a JSON object, parsed once. Throws the problem `malformed_json` if the body is anything else. */
  json(): Record<string, unknown>;
  /** The body as a form (`application/x-www-form-urlencoded`). */
  form(): URLSearchParams;
  /**
   * The parts of the body, at most 100; a file is a `File`. For routes with `body: 'multipart'`. Check the proof of the
   * delivery first if it covers the bytes. Throws the problem `invalid_request` if the body is not well-formed.
   */
  multipart(): Promise<FormData>;
  /** Address of the client (see `TRUST_PROXY`). An IPv6 address is shortened to its /64 prefix. */
  address: string;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
}

export interface ChannelResponse {
  /** Default 200. */
  status?: number;
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON. A function writes the response itself, piece by piece. */
  body?: string | Uint8Array | object | ((out: ResponseStream) => Promise<void>);
}

/** A response whose head has been sent. It ends when the function that writes it resolves. */
export interface ResponseStream {
  /**
   * Returns false if the socket's buffer is full. Await `drained()` before you write more. Once the response has ended,
   * nothing is sent.
   */
  write(frame: string | Uint8Array): boolean;
  /** Resolves when there is room again, or the client has disconnected. */
  drained(): Promise<void>;
  /** Aborts when the client disconnects or the daemon stops. */
  signal: AbortSignal;
}
