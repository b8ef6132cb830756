import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { PersonKey, ValidatedToken } from '../identity/identity.ts';
import { tokenRecord } from '../message/create-stream.ts';
import type { Services } from '../message/services.ts';
import type { Settings } from '../settings/settings.ts';
import type { StreamClaimant, StreamRecord } from '../store/streams.ts';

/** Finds the record of a stream. @throws `stream_not_found` */
export async function findStream(services: Services, stream_id: string): Promise<StreamRecord> {
  const stream = await services.store.streams.find(stream_id);
  if (stream) return stream;
  throw new AgentdError('stream_not_found', 'There is no such stream, or it has expired.');
}

/** The tokens of a request to a stream, and the position of its client. */
interface Reading {
  tokens: StreamTokens;
  /** Id of the last event that the client has; 0 if it has none. */
  after: number;
}

export interface AdmittedReader {
  stream: StreamRecord;
  /** The token that the run would use. Null means "signed out"; undefined means that there is no token. */
  token: string | null | undefined;
  /** The same token with the result of its validation, so that it is validated only once. Null if there is no token. */
  validated: ValidatedToken | null;
  /** The claimant of the stream, in case this request begins its run. */
  claimant: StreamClaimant;
}

/**
 * Decides who may open, read or stop a stream, and which token its run would use (agentd-message(7), "Whose stream it
 * is").
 *
 * The id of a stream is a capability that was given only to the client that posted the message. The id alone is not
 * enough for a sender whose valid token belongs to a different person. If a person opened the stream with a token in
 * the address, only a token of that person can be used to read and stop it, because the client that posted the message
 * knows the id, too.
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
  const own = ownToken(services, stream, request);
  const { token_refused } = stream.start;
  // A token that was already refused with the message is not validated and logged again.
  const check = async (token: string): Promise<ValidatedToken> => ({
    token,
    verdict:
      token === own && token_refused !== undefined
        ? { valid: false, reason: token_refused }
        : await services.tokens.validate(token, request.id),
  });
  // If there are several cookies, it is not clear which of them is meant.
  const [cookie] = cookies.length === 1 ? cookies : [];
  const ambient = cookie ? await check(cookie) : null;
  const explicit = tokens.explicit ? await check(tokens.explicit) : null;
  const presented = [ambient, explicit].filter((one) => one !== null);
  await refuseOtherPersons(services, stream, presented);
  refuseOtherReaders(stream, request, { explicit, ambient }, after);

  const counted = countsFor(stream, ambient) ? ambient : null;
  if (tokens.required && counted === null && explicit === null && !stream.start.token_given) {
    throw new AgentdError('token_missing', 'A token is required to open a stream, and none was supplied.');
  }
  const validated = counted ?? explicit ?? (own ? await check(own) : null);
  const owner = readPerson(validated);
  // If a token came with the message (`stream.owner`), only the client of that person got the id.
  const by_address = counted === null && explicit !== null && stream.owner === null;
  return {
    stream,
    token: validated?.token ?? (signedOut ? null : undefined),
    validated,
    claimant: { owner, reader: by_address ? owner : null },
  };
}

/**
 * Checks again whether a request may read a stream. Called if the stream was waiting when the request arrived, and
 * another request then began its run: the stream may belong to a person now.
 * @throws also `stream_not_found` if the stream has expired, because no event would ever come.
 */
export async function admitAgain(
  services: Services,
  stream_id: string,
  request: ChannelRequest,
  reading: Reading,
): Promise<void> {
  await admitReader(services, await findStream(services, stream_id), request, reading);
}

/**
 * Refuses valid tokens of other persons. @throws `forbidden` if a token does not belong to the person who owns the
 * stream or its session.
 */
async function refuseOtherPersons(
  services: Services,
  stream: StreamRecord,
  presented: readonly ValidatedToken[],
): Promise<void> {
  const persons = presented.map(readPerson).filter((person) => person !== null);
  if (persons.length === 0) return;
  const { session_id } = stream.start;
  const session = await services.store.sessions.find(session_id);
  // If the session got a new id at sign-in, the answer belongs to a different session, so the owner of the old session
  // is ignored.
  const session_owner = session?.session_id === session_id ? session.owner : null;
  for (const owner of [stream.owner, session_owner]) {
    if (owner !== null && persons.some((person) => person !== owner)) throw belongsToSomeoneElse();
  }
}

/**
 * Refuses other readers of a stream that belongs to one reader. A token of that reader is needed: in the address, or in
 * a cookie if the message came with a cookie of the same person. To resume reading, a token in the address is enough
 * even if it has expired since the message was posted.
 * @throws `forbidden`
 */
function refuseOtherReaders(
  { reader, start }: StreamRecord,
  { method }: ChannelRequest,
  { explicit, ambient }: { explicit: ValidatedToken | null; ambient: ValidatedToken | null },
  after: number,
): void {
  if (reader === null) return;
  if (readPerson(explicit) === reader) return;
  if (readPerson(ambient) === reader && start.cookie_person === reader) return;
  const verdict = explicit?.verdict;
  const expired = verdict?.valid === false ? verdict.expired : undefined;
  const posted_at = start.accepted_at;
  const resumes = method !== 'DELETE' && after > 0;
  if (resumes && expired?.person === reader && expired.at > posted_at) return;
  throw belongsToSomeoneElse();
}

/**
 * Whether the cookie counts. Browsers send it even if the person follows somebody else's link. Therefore it counts only
 * if the message came from the same person: with a token or a cookie of that person.
 */
function countsFor({ owner, start }: StreamRecord, ambient: ValidatedToken | null): boolean {
  const person = readPerson(ambient);
  return person !== null && (person === owner || person === start.cookie_person);
}

function readPerson(validated: ValidatedToken | null): PersonKey | null {
  return validated?.verdict.valid ? validated.verdict.person : null;
}

function belongsToSomeoneElse(): AgentdError {
  return new AgentdError('forbidden', 'This stream belongs to someone else.');
}

/** The token that came with the message, which is stored until the stream is opened. */
function ownToken(services: Services, stream: StreamRecord, request: ChannelRequest): string | undefined {
  if (stream.token === null) return undefined;
  const token = services.seal.open(stream.token, tokenRecord(stream.stream_id));
  if (token !== null) return token;
  services.log.warn({ request_id: request.id }, 'no encryption key can unseal the stored token');
  return undefined;
}

/** The values of `Sec-Fetch-Site` (Fetch Metadata) for requests that do not come from another site. */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

/**
 * Refuses the request of a browser unless a script of an allowed page made it. A link, a frame, an image, a form or a
 * script of another site can make the browser request a stream with the cookie of the person who views that site
 * (agentd-message(7), "Whose stream it is").
 * @throws `forbidden`
 */
export function refuseForeignPage(
  { headers }: Pick<ChannelRequest, 'headers'>,
  { ambient }: Pick<StreamTokens, 'ambient'>,
  { WEBCHAT_ALLOWED_ORIGINS }: Pick<Settings, 'WEBCHAT_ALLOWED_ORIGINS'>,
): void {
  const { 'sec-fetch-mode': mode, 'sec-fetch-site': site, origin, accept } = headers;
  const isAllowed = origin !== undefined && WEBCHAT_ALLOWED_ORIGINS.includes(origin);
  const isForeign = site !== undefined && !OWN_SITES.includes(site) && !isAllowed;
  // If the browser does not support Fetch Metadata, a request with a cookie that accepts HTML counts as a navigation.
  const isPage = ambient.some(Boolean) && /text\/html/i.test(accept ?? '');
  if (mode === 'navigate' || isForeign || isPage)
    throw new AgentdError(
      'forbidden',
      'A stream can only be read by a script of an allowed page. It cannot be opened as a page.',
    );
}
