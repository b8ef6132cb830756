import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { House } from '../house.ts';
import type { Validated } from '../http/validate-once.ts';
import type { TokenVerdict } from '../identity/identity.ts';
import type { StreamRecord } from '../store/streams.ts';
import { tokenRecord } from './keep-message.ts';

/** @throws `stream_not_found` */
export async function findStream(house: House, stream_id: string): Promise<StreamRecord> {
  const stream = await house.store.streams.find(stream_id);
  if (stream) return stream;
  throw new AgentdError('stream_not_found', 'There is no such stream, or it has expired.');
}

export interface Admitted {
  stream: StreamRecord;
  /** The token that its run would act with; null is "signed out", undefined nothing. */
  token: string | null | undefined;
  /** Its one validation. */
  validated: Validated | null;
}

/**
 * Who may read or stop a stream (decisions §5): whoever knows its id, but nobody whom a valid token shows to
 * be another person than the one it belongs to.
 *
 * The token is the first that there is: ambient (not after a "signed out" message), explicit, the message's
 * own.
 * @throws `token_missing`, `session_forbidden`.
 */
export async function admitReader(
  house: House,
  stream: StreamRecord,
  request: ChannelRequest,
  tokens: StreamTokens,
): Promise<Admitted> {
  const signedOut = stream.start.message.metadata.jwt_token === null;
  const presented = (signedOut ? undefined : tokens.ambient) ?? tokens.explicit;
  if (tokens.required && presented === undefined && !stream.start.token_given) {
    throw new AgentdError('token_missing', 'A token is required to open a stream, and none was supplied.');
  }
  const own = ownToken(house, stream, request);
  const token = presented ?? own ?? (signedOut ? null : undefined);
  // A token that was refused with the message is not validated, and logged, a second time.
  const refused = token === own ? stream.start.token_refused : undefined;
  const verdict = async (given: string): Promise<TokenVerdict> =>
    refused ? { valid: false, reason: refused } : house.tokens.validate(given, request.id);
  const validated = token ? { token, verdict: await verdict(token) } : null;
  if (validated?.verdict.valid) await refuseStranger(house, stream, validated.verdict.person);
  return { stream, token, validated };
}

async function refuseStranger(house: House, stream: StreamRecord, person: string): Promise<void> {
  const session = await house.store.sessions.find(stream.start.session_id);
  for (const owner of [stream.owner, session?.owner ?? null]) {
    if (owner !== null && owner !== person)
      throw new AgentdError('session_forbidden', 'This stream belongs to someone else.');
  }
}

/** The token that came with the message; it is there until the stream is opened. */
function ownToken(house: House, stream: StreamRecord, request: ChannelRequest): string | undefined {
  if (stream.token === null) return undefined;
  const token = house.seal.open(stream.token, tokenRecord(stream.stream_id));
  if (token !== null) return token;
  house.log.warn({ request_id: request.id }, 'stored token does not open with any TOKEN_ENCRYPTION_KEY');
  return undefined;
}
