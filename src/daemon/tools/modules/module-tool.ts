import type {
  ToolApi,
  ToolApiError,
  ToolApiRequest,
  ToolContext,
  ToolDefinition,
} from '../../../agent/index.ts';
import { ContextEnded } from '../../time/time-limit.ts';
import type { ToolRequest } from '../downstream/client.ts';
import {
  type EncodedBody,
  type FormPart,
  findFormProblem,
  formBody,
  multipartBody,
} from '../downstream/form-body.ts';
import { isFileLike, readFormFile } from '../downstream/form-file.ts';
import { queryPairs } from '../openapi/parameter-styles.ts';
import { readPolicy } from '../source-entry.ts';
import type { Sent, Tool, ToolCall, ToolClient, ToolResponse, ToolSourceInfo } from '../tool.ts';

/** Maximum length of the body of a refusal that is passed on to the agent, in characters. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** The record of a tool that a module exports. */
export function createModuleTool(definition: ToolDefinition, source: ToolSourceInfo): Tool {
  const { name, title = null, description, parameters, effect } = definition;
  return {
    name,
    title,
    description,
    parameters,
    source,
    ...readPolicy({}, definition, effect, true),
    send: (args, call) => callModule(definition, args, call),
  };
}

async function callModule(definition: ToolDefinition, args: object, call: ToolCall): Promise<Sent> {
  const { person, context: message, idempotency_key, signal } = call;
  /** @throws ContextEnded if the call has ended. A module may have kept its context, or may still run after an abort. */
  const expectOpen = () => {
    if (signal.aborted) throw ContextEnded.ofCall(definition.name);
  };
  const refusals: ApiError[] = [];
  const context: ToolContext = {
    person,
    session_id: message?.session_id ?? null,
    user_id: message?.user_id ?? null,
    app_name: message?.app_name ?? null,
    api: toolApi(call.client, expectOpen, refusals),
    idempotency_key,
    signal,
    log: toolLog(call.log, expectOpen),
  };
  try {
    const result: unknown = await definition.call(args, context);
    return { outcome: 'answered', status: null, result: result ?? null };
  } catch (error) {
    if (error instanceof ApiError) return error.sent;
    throw withoutAnswers(error, refusals);
  }
}

/** How many causes of an error are logged. */
const CAUSES_MAX = 3;

/** An error as it may be logged: without answers of the API that it quotes, which may be a person's data. */
function withoutAnswers(error: unknown, refusals: readonly ApiError[], depth = 0): unknown {
  const hide = (text: string) => refusals.reduce((rest, refusal) => refusal.hideAnswer(rest), text);
  if (refusals.length === 0 || depth > CAUSES_MAX) return error;
  if (!(error instanceof Error)) return hide(String(error));
  const { name, message, stack = '', cause } = error;
  return Object.assign(new Error(hide(message)), error, {
    name,
    stack: hide(stack),
    ...(cause === undefined ? {} : { cause: withoutAnswers(cause, refusals, depth + 1) }),
  });
}

function toolLog(log: ToolCall['log'], expectOpen: () => void): ToolContext['log'] {
  const line = (level: 'debug' | 'warn') => (fields: object, message: string) => {
    expectOpen();
    log[level](fields, message);
  };
  return Object.freeze({ debug: line('debug'), warn: line('warn') });
}

/** @param refusals gets the error of each request without a successful answer */
function toolApi(client: ToolClient, expectOpen: () => void, refusals: ApiError[]): ToolApi {
  const send =
    (method: ToolRequest['method']) =>
    async (path: string, request: ToolApiRequest = {}) => {
      expectOpen();
      const { query = {}, body, headers, allow_slash } = request;
      const encoded = moduleBody(request);
      const response = await client.request({
        method,
        path,
        ...(allow_slash === undefined ? {} : { allow_slash }),
        query: listGiven(query).map(([name, value]) => [name, String(value)] as const),
        ...(body === undefined ? {} : { body }),
        ...(encoded === undefined ? {} : { encoded }),
        ...(headers === undefined ? {} : { headers }),
      });
      if (response.outcome === 'answered' && response.status < 300) return response.body;
      const refusal = new ApiError(response);
      refusals.push(refusal);
      throw refusal;
    };
  return Object.freeze({
    get: send('GET'),
    post: send('POST'),
    put: send('PUT'),
    patch: send('PATCH'),
    delete: send('DELETE'),
  });
}

/**
 * A request of a module to the API had no successful answer. If the module does not catch this error, `sent` becomes
 * the outcome of the call.
 */
class ApiError extends Error implements ToolApiError {
  readonly status: number | null;
  /** A private member, so that a log of the error does not show it. */
  readonly #response: ToolResponse;

  constructor(response: ToolResponse) {
    super(readMessage(response));
    this.name = 'ToolApiError';
    this.status =
      response.outcome === 'answered' ? response.status : response.outcome === 'sign_in_needed' ? 401 : null;
    this.#response = response;
  }

  /** A text in which this error may be quoted, with the status in place of the answer. */
  hideAnswer(text: string): string {
    const response = this.#response;
    if (response.outcome !== 'answered') return text;
    return text.replaceAll(readMessage(response), readMessage({ ...response, body: null }));
  }

  get sent(): Sent {
    const response = this.#response;
    if (response.outcome !== 'answered') return response;
    return { outcome: 'answered', status: response.status, result: response.body };
  }
}

function readMessage(response: ToolResponse): string {
  if (response.outcome === 'failed') return response.message;
  if (response.outcome === 'sign_in_needed')
    return 'The business API does not accept the sign-in of the person.';
  const { status, body } = response;
  const said =
    body === null || body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const head = `The business API answered ${status}`;
  return said === '' ? `${head}.` : `${head}: ${said.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()}`;
}

/** Maximum size of a body that a module sends as a form, in bytes. */
const MAX_BODY_BYTES = 8 * 1_048_576;

/**
 * The form that a module sends; undefined if its request has none.
 * @throws TypeError if the request is wrong. It is a defect of the module, so the message is for its author.
 */
function moduleBody({ body, form, multipart }: ToolApiRequest): EncodedBody | undefined {
  if ([body, form, multipart].filter((one) => one !== undefined).length > 1)
    throw new TypeError('a request has only one of `body`, `form` and `multipart`');
  const encoded =
    form !== undefined
      ? formBody(listGiven(form).flatMap(([name, value]) => encodePairs(`form.${name}`, name, value)))
      : multipart !== undefined
        ? multipartBody(listGiven(multipart).flatMap(([name, value]) => encodeParts(name, value)))
        : undefined;
  if (encoded !== undefined && Buffer.byteLength(encoded.content) > MAX_BODY_BYTES)
    throw new TypeError(`the form is larger than ${MAX_BODY_BYTES / 1_048_576} MiB`);
  return encoded;
}

/** A list repeats the name; the members of an object are written as `name[member]`. */
function encodePairs(path: string, name: string, value: unknown): string[] {
  const problem = findFormProblem(path, value);
  if (problem !== null) throw new TypeError(problem);
  const isDeep = Array.isArray(value)
    ? value.some((item) => typeof item === 'object')
    : typeof value === 'object';
  return queryPairs(
    { name, style: isDeep ? 'deepObject' : 'form', explode: true, allowReserved: false },
    value,
  );
}

function encodeParts(name: string, value: unknown): FormPart[] {
  if (Array.isArray(value)) return value.flatMap((item) => encodeParts(name, item));
  if (isFileLike(value)) {
    const file = readFormFile(value, MAX_BODY_BYTES);
    if (typeof file === 'string') throw new TypeError(`\`multipart.${name}\` ${file}`);
    return [{ name, ...file }];
  }
  if (typeof value === 'object' && value !== null)
    return [{ name, content: JSON.stringify(value), content_type: 'application/json' }];
  if (value === null) throw new TypeError(`\`multipart.${name}\` is null: leave it out`);
  return [{ name, content: String(value) }];
}

function listGiven(fields: Readonly<Record<string, unknown>>): [name: string, value: unknown][] {
  return Object.entries(fields).filter(([, value]) => value !== undefined);
}
