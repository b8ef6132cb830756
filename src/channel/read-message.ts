import { checkAnswer, checkId, checkText } from './check-message.ts';
import { isObject } from './json-object.ts';
import type { ConfirmationAnswer, IncomingMessage, MessageMetadata } from './message.ts';
import type { ChannelRequest } from './route.ts';
import type { ChannelScope, FieldError, TokenSource } from './scope.ts';

type Body = Record<string, unknown>;

/** The documented names of claims that a client makes about itself. Claims with other names are in `other`. */
const CLAIM_NAMES = ['page_url', 'user_name', 'user_agent'] as const;
type ClaimName = (typeof CLAIM_NAMES)[number];

/** Longest JSON of the client's other claims, bytes. */
const OTHER_CLAIMS_MAX = 4096;

/** The user token of the first source that has one (`ChannelScope.readToken`). */
export function readToken(
  request: ChannelRequest,
  sources: readonly TokenSource[],
): string | null | undefined {
  for (const source of sources) {
    const token = TOKEN_IN[source](request);
    if (token !== undefined) return token;
  }
  return undefined;
}

const TOKEN_IN: Readonly<Record<TokenSource, (request: ChannelRequest) => string | null | undefined>> = {
  header: (request) => bearer(request.headers.authorization),
  body: (request) => tokenIn(request.json()),
  metadata(request) {
    const { metadata } = request.json();
    return isObject(metadata) ? tokenIn(metadata) : undefined;
  },
};

/**
 * The message that a web client posted (`ChannelScope.readMessage`).
 * @param noteDropped called with the length in bytes if `metadata.other` is dropped
 */
export function readMessage(
  platform: string,
  request: ChannelRequest,
  sources: readonly TokenSource[],
  problem: ChannelScope['problem'],
  noteDropped: (bytes: number) => void = () => undefined,
): IncomingMessage {
  const body = request.json();
  const errors: FieldError[] = [];
  const user_id = identifier(body.user_id, 'user_id', 256, errors);
  const confirm = confirmationAnswer(body.metadata, errors);
  const text = confirm !== undefined && isEmpty(body.message) ? '' : message(body.message, errors);
  const session_id = body.session_id ?? null;
  const thread_id = session_id === null ? null : identifier(session_id, 'session_id', 512, errors);
  tokenField(body.jwt_token, 'jwt_token', errors);
  const { other, ...claims } = clientMetadata(body, sources.includes('metadata'), errors);
  const key = idempotencyKey(request.headers['idempotency-key'], errors);
  if (errors.length > 0)
    throw problem('invalid_request', 'The request has fields that are not valid.', errors);
  const token = readToken(request, sources);
  const locale = firstLanguage(request.headers['accept-language']);
  const metadata: MessageMetadata = { ...claims, ...otherClaims(other, noteDropped) };
  return {
    platform,
    user_id,
    channel_id: user_id,
    thread_id,
    text,
    ...(confirm === undefined ? {} : { confirm }),
    ...(locale === undefined ? {} : { locale }),
    metadata: token === undefined ? metadata : { ...metadata, jwt_token: token },
    ...(key === undefined ? {} : { message_id: key }),
  };
}

/** The first language of `Accept-Language`, which is the language that the visitor prefers. */
function firstLanguage(header = ''): string | undefined {
  return /^\s*([a-z]{2,3}(?:-[a-z0-9]{1,8}){0,4})\s*(?:[,;]|$)/i.exec(header)?.[1];
}

/**
 * The token after `Bearer` (RFC 6750), which may be in upper or lower case. Another scheme or an empty token counts as
 * no token.
 */
function bearer(header: string | undefined): string | undefined {
  return /^bearer +(\S.*)$/i.exec(header?.trim() ?? '')?.[1];
}

function tokenIn({ jwt_token }: Body): string | null | undefined {
  return jwt_token === null || (typeof jwt_token === 'string' && jwt_token !== '') ? jwt_token : undefined;
}

function identifier(value: unknown, field: string, max: number, errors: FieldError[]): string {
  const wrong = (message: string) => errors.push({ field, message });
  if (isAbsent(value)) wrong('is required');
  else checkId(value, max, wrong);
  return value as string;
}

function message(value: unknown, errors: FieldError[]): string {
  const wrong = (message: string) => errors.push({ field: 'message', message });
  const text = typeof value === 'string' ? value.trim().toWellFormed() : value;
  if (isAbsent(value)) wrong('is required');
  else checkText(text, wrong);
  return text as string;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** The answer to a question, from `metadata.confirm`. */
function confirmationAnswer(metadata: unknown, errors: FieldError[]): ConfirmationAnswer | undefined {
  const { confirm } = isObject(metadata) ? metadata : {};
  if (confirm === undefined || confirm === null) return undefined;
  const before = errors.length;
  checkAnswer(confirm, (field, problem) =>
    errors.push({ field: `metadata.confirm${field}`, message: problem }),
  );
  if (errors.length > before) return undefined;
  const { id, approve } = confirm as ConfirmationAnswer;
  // In order, so that two requests with the same numbers have the same body.
  return { id, approve: typeof approve === 'boolean' ? approve : [...approve].sort((a, b) => a - b) };
}

function isEmpty(message: unknown): boolean {
  return isAbsent(message) || (typeof message === 'string' && message.trim() === '');
}

/**
 * The claims that the client makes about itself.
 * @param holdsToken whether the token may be in the metadata; if so, its type is checked
 */
function clientMetadata(
  { metadata }: Body,
  holdsToken: boolean,
  errors: FieldError[],
): Pick<MessageMetadata, ClaimName | 'other'> {
  if (metadata === undefined || metadata === null) return {};
  if (!isObject(metadata)) {
    errors.push({ field: 'metadata', message: 'must be an object' });
    return {};
  }
  const { jwt_token, confirm: _answer, ...given } = metadata;
  if (holdsToken) tokenField(jwt_token, 'metadata.jwt_token', errors);
  const claims: Pick<MessageMetadata, ClaimName | 'other'> = {};
  for (const name of CLAIM_NAMES) {
    const value = given[name];
    // The metadata is free-form and unverified, so a value of another type is ignored, not refused.
    if (typeof value === 'string') claims[name] = value.toWellFormed().slice(0, 2048);
    delete given[name];
  }
  return { ...claims, other: given };
}

/** The client's other claims. Without the member `other` if there are none, or if they are too long. */
function otherClaims(
  other: MessageMetadata['other'] = {},
  noteDropped: (bytes: number) => void,
): Pick<MessageMetadata, 'other'> {
  if (Object.keys(other).length === 0) return {};
  const bytes = Buffer.byteLength(JSON.stringify(other));
  if (bytes <= OTHER_CLAIMS_MAX) return { other };
  noteDropped(bytes);
  return {};
}

function tokenField(value: unknown, field: string, errors: FieldError[]): void {
  if (value !== undefined && value !== null && typeof value !== 'string') {
    errors.push({ field, message: 'must be a string or null' });
  }
}

function idempotencyKey(header: string | undefined, errors: FieldError[]): string | undefined {
  if (header === undefined) return undefined;
  if (/^[\x21-\x7e]{1,255}$/.test(header)) return header;
  errors.push({ field: 'Idempotency-Key', message: 'must have 1 to 255 visible ASCII characters' });
  return undefined;
}
