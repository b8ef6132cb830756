/** Your own tool, as its module exports it. The daemon enforces the policies of a tool (agentd-agent(7), "Modules"). */
export interface ToolDefinition {
  /** 1 to 64 letters, digits, `_` and `-`. */
  name: string;
  /** The name for people. Default: the name, split into words. */
  title?: string;
  /** For the model: what the tool does, and when to use it. */
  description: string;
  /** JSON Schema of the arguments, of type `object`. Arguments that it does not list are refused. */
  parameters: Readonly<Record<string, unknown>>;
  /** Whether a call changes something. */
  effect: 'read' | 'write';
  /** Whose credentials `context.api` uses. Default: `user-or-default` for `read`, `user` for `write`. */
  credentials?: 'user-or-default' | 'user' | 'default' | 'none';
  /** Whether the person must confirm a call before it is made. Default: `always` for `write`, `never` for `read`. */
  confirm?: 'always' | 'never' | ConfirmWhen;
  /** The action in the question for confirmation. `{parameter}` is replaced by the argument. Default: the title. */
  summary?: string;
  /** The verb on the button that confirms the action, at most 20 characters. Default: the text `confirm_button`. */
  confirm_label?: string;
  /** Top-level fields of the results of `context.api` that may be shown under default credentials. Default: none. */
  public?: readonly string[] | 'all';
  /**
   * Whether a call may be repeated if its outcome is unknown. The repeated call has the same `context.idempotency_key`.
   */
  idempotent?: boolean;
  /**
   * Makes one call. The result is given to the agent as JSON. If it throws, the error is logged, and the agent learns
   * only that the tool failed. If an error of `context.api` is not caught, the agent also gets its status and message.
   *
   * @param args checked against `parameters`
   */
  // biome-ignore lint/suspicious/noExplicitAny: the schema says what it is, and each tool names its own type
  call(args: any, context: ToolContext): unknown;
}

/**
 * The person must confirm a call if one of the conditions holds, or if the tool wrote in the same session in the last
 * 10 minutes. A condition on an argument that is missing or has another type counts as holding.
 */
export interface ConfirmWhen {
  readonly when: readonly ConfirmRule[];
}

/** `argument` is the name of an argument; `body.amount` is the member `amount` of the argument `body`. */
export type ConfirmRule = { readonly argument: string } & (
  | { readonly over: number }
  | { readonly under: number }
  | { readonly in: readonly (string | number | boolean)[] }
  | { readonly not_in: readonly (string | number | boolean)[] }
  /** Holds if the argument is given. */
  | { readonly present: true }
);

/**
 * What your own tool may know about the message, and what it may use. When `call` has ended, `api` and `log` reject every
 * use, and requests that are still being made are canceled: the daemon may then be answering another person.
 */
export interface ToolContext {
  /** The claims of the person for whom the message acts, never the token. Null if nobody is signed in. */
  person: (Readonly<Record<string, unknown>> & { sub: string; email: string }) | null;
  /**
   * The id of the session; null in a replay. Whoever knows it may continue the session: show it neither to a model nor
   * to people.
   */
  session_id: string | null;
  /**
   * The sender's id on the channel; null in a replay. A client without a platform chooses it itself: never decide by it
   * whose data to use.
   */
  user_id: string | null;
  /** `APP_NAME`; null in a replay. */
  app_name: string | null;
  /** The business API at `API_BASE_URL`, with the credentials that were chosen for this call. */
  api: ToolApi;
  /** The same for each attempt at one write; null for a tool that reads. */
  idempotency_key: string | null;
  /** Aborts together with the signal of the run, after 2 minutes, and when the call has ended. */
  signal: AbortSignal;
  log: { debug(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/**
 * Each method resolves to the parsed JSON of a 2xx answer. If there is another answer or none, it throws a
 * `ToolApiError`. Data that was fetched under default credentials is reduced to the `public` fields of the tool.
 *
 * `path` is below `API_BASE_URL` and begins with a slash. Encode each value that you put into it with
 * `encodeURIComponent`. A path is refused if a value adds a segment to it, or makes one empty, `.` or `..`.
 */
export interface ToolApi {
  get(path: string, request?: Pick<ToolApiRequest, 'query' | 'headers' | 'allow_slash'>): Promise<unknown>;
  post(path: string, request?: ToolApiRequest): Promise<unknown>;
  put(path: string, request?: ToolApiRequest): Promise<unknown>;
  patch(path: string, request?: ToolApiRequest): Promise<unknown>;
  delete(path: string, request?: ToolApiRequest): Promise<unknown>;
}

export interface ToolApiRequest {
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. A request has only one of `body`, `form` and `multipart`. */
  body?: unknown;
  /**
   * Sent as `application/x-www-form-urlencoded`. A list repeats its name (`tag=a&tag=b`), and the members of an object
   * get brackets (`address[city]=Bern`). `undefined` is left out; null is an error, because a form has no null.
   */
  form?: Readonly<Record<string, unknown>>;
  /**
   * Sent as `multipart/form-data`, at most 8 MiB. A list repeats its name, and an object that is not a file is written
   * as JSON.
   */
  multipart?: Readonly<Record<string, unknown>>;
  /**
   * For example an idempotency key. Headers are refused if they are about credentials or the connection, or if they
   * change the method, host, client address or person of a request.
   */
  headers?: Readonly<Record<string, string>>;
  /** Whether a segment of the path may contain an encoded slash (`%2F`) or backslash. Default: it is refused. */
  allow_slash?: boolean;
}

/** A file in `multipart`. It has exactly one of `text`, `base64` and `bytes`. */
export interface ToolApiFile {
  text?: string;
  base64?: string;
  bytes?: Uint8Array;
  /** Its last part is used, without characters that a header or a path could misread. Default: `file`. */
  file_name?: string;
  /** Default: `text/plain; charset=utf-8` for a text, otherwise `application/octet-stream`. */
  content_type?: string;
}

/** The error that the methods of `context.api` throw. */
export interface ToolApiError extends Error {
  /** Status of the answer. Null if there is no answer. */
  status: number | null;
  /** Text for the agent: the first 1,000 characters of the answer, or only its status under default credentials. */
  message: string;
}
