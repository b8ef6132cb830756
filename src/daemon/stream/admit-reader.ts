import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { PersonKey, ValidatedToken } from '../identity/identity.ts';
import { tokenRecord } from '../message/create-stream.ts';
import type { Services } from '../services.ts';
import type { StreamClaimant, StreamRecord } from '../store/streams.ts';

/** @throws `stream_not_found` */
export async function findStream(services: Services, stream_id: string): Promise<StreamRecord> {
  const stream = await services.store.streams.find(stream_id);
  if (stream) return stream;
  throw new AgentdError('stream_not_found', 'There is no such stream, or it has expired.');
}

/** A request to a stream, with the tokens that it brought. */
export interface Reading {
  tokens: StreamTokens;
  /** Id of the last event that the client has; 0 if it has none. */
  after: number;
}

export interface AdmittedReader {
  stream: StreamRecord;
  /** The token that its run would act with. Null means "signed out", undefined means that there is no token. */
  token: string | null | undefined;
  /** The result of validating that token, which happens only once. */
  validated: ValidatedToken | null;
  /** The owner of the stream, if this request begins its run. */
  claimant: StreamClaimant;
}

/**
 * Decides who may open, read or stop a stream, and with which token its run would act (agentd-message(7), "Whose stream
 * it is").
 *
 * The id of a stream is a capability, which only the client that posted the message was given. It is not enough for a
 * sender whose valid token belongs to a different person. If a token in the address made the stream a person's own, it
 * can be read and stopped only with a token of that person, because the client that posted the message knows the id,
 * too.
 * @throws `token_missing`, `forbidden`.
 */
export async function admitReader(
  services: Services,
  stream: StreamRecord,
  request: ChannelRequest,
  { tokens, after }: Reading,
): Promise<AdmittedReader> {
  const signedOut = stream.start.message.metadata.jwt_token === null;
  const cookies = signedOut ? [] : tokens.ambient;
  if (tokens.required && !cookies.some(Boolean) && !tokens.explicit && !stream.start.token_given) {
    throw new AgentdError('token_missing', 'A token is required to open a stream, and none was supplied.');
  }
  const own = ownToken(services, stream, request);
  const { token_refused } = stream.start;
  // A token that was refused with the message is not validated and logged a second time.
  const check = async (token: string): Promise<ValidatedToken> => ({
    token,
    verdict:
      token === own && token_refused !== undefined
        ? { valid: false, reason: token_refused }
        : await services.tokens.validate(token, request.id),
  });
  // If there are several cookies, nobody can tell which one is meant.
  const [cookie] = cookies.length === 1 ? cookies : [];
  const ambient = cookie ? await check(cookie) : null;
  const explicit = tokens.explicit ? await check(tokens.explicit) : null;
  const presented = [ambient, explicit].filter((one) => one !== null);
  await refuseOtherPersons(services, stream, presented);
  refuseOtherReaders(stream, request, { explicit, ambient }, after);

  const counted = countsFor(stream, ambient) ? ambient : null;
  const validated = counted ?? explicit ?? (own ? await check(own) : null);
  const owner = personOf(validated);
  // If the person's own token came with the message, only that person's client was given the id.
  const by_address = counted === null && explicit !== null && stream.owner === null;
  return {
    stream,
    token: validated?.token ?? (signedOut ? null : undefined),
    validated,
    claimant: { owner, reader: by_address ? owner : null },
  };
}

/**
 * Checks again, for a request that found the stream waiting while another one began its run: the stream may belong to a
 * person by now.
 * @throws also `stream_not_found`, if the stream has expired, so that no event would ever come.
 */
export async function admitAgain(
  services: Services,
  stream_id: string,
  request: ChannelRequest,
  reading: Reading,
): Promise<void> {
  await admitReader(services, await findStream(services, stream_id), request, reading);
}

/** @throws `forbidden` if the token is valid, but belongs to a different person than the stream or its session. */
async function refuseOtherPersons(
  services: Services,
  stream: StreamRecord,
  presented: readonly ValidatedToken[],
): Promise<void> {
  const persons = presented.map(personOf).filter((person) => person !== null);
  if (persons.length === 0) return;
  const { session_id } = stream.start;
  const session = await services.store.sessions.find(session_id);
  // An id from before sign-in does not count: the answer belongs to a different session.
  const session_owner = session?.session_id === session_id ? session.owner : null;
  for (const owner of [stream.owner, session_owner]) {
    if (owner !== null && persons.some((person) => person !== owner)) throw belongsToSomeoneElse();
  }
}

/**
 * A stream that belongs to one reader needs a token of that person: in the address, or in a cookie if the message came
 * with their cookie.
 * @throws `forbidden`. To resume reading, a token in the address is enough even if it has expired since the message was
 * posted.
 */
function refuseOtherReaders(
  { reader, start }: StreamRecord,
  { method }: ChannelRequest,
  { explicit, ambient }: { explicit: ValidatedToken | null; ambient: ValidatedToken | null },
  after: number,
): void {
  if (reader === null) return;
  if (personOf(explicit) === reader) return;
  if (personOf(ambient) === reader && start.cookie_person === reader) return;
  const verdict = explicit?.verdict;
  const expired = verdict?.valid === false ? verdict.expired : undefined;
  const posted_at = start.trace[0]?.at ?? Number.POSITIVE_INFINITY;
  const resumes = method !== 'DELETE' && after > 0;
  if (resumes && expired?.person === reader && expired.at > posted_at) return;
  throw belongsToSomeoneElse();
}

/**
 * Whether the cookie counts. Browsers send it even if somebody else made the link, so it counts only if the message
 * came from the same person: with their token, or with their cookie.
 */
function countsFor({ owner, start }: StreamRecord, ambient: ValidatedToken | null): boolean {
  const person = personOf(ambient);
  return person !== null && (person === owner || person === start.cookie_person);
}

function personOf(validated: ValidatedToken | null): PersonKey | null {
  return validated?.verdict.valid ? validated.verdict.person : null;
}

function belongsToSomeoneElse(): AgentdError {
  return new AgentdError('forbidden', 'This stream belongs to someone else.');
}

/** The token that came with the message. It is stored until the stream is opened. */
function ownToken(services: Services, stream: StreamRecord, request: ChannelRequest): string | undefined {
  if (stream.token === null) return undefined;
  const token = services.seal.open(stream.token, tokenRecord(stream.stream_id));
  if (token !== null) return token;
  services.log.warn({ request_id: request.id }, 'stored token does not open with any encryption key');
  return undefined;
}
