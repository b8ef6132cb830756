import { hash } from 'node:crypto';
import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import { randomSuffix } from '../time/clock.ts';

/** `metadata.jwt_context`, as documented in agentd-identity(7), "Stored context". `token` is sealed if a key is set. */
export interface JwtContext {
  has_jwt: true;
  user_id: string;
  email: string;
  token: string;
  /** The expiry of the token, ISO 8601 UTC. */
  token_exp: string;
}

export interface Session {
  /** The id that clients use now. If it was generated, sign-in replaces it. */
  session_id: string;
  /**
   * The id that the session had before sign-in; null if its id never changed. The previous id stays reserved while the
   * session exists. It leads to the session only with the owner's valid token (agentd-message(7), "Sessions").
   */
  former_id: string | null;
  /** The channel user who opened the session. */
  user_id: string;
  /** The other id of the user of a private chat (`IncomingMessage.alias_id`). Absent if no message has contained one. */
  alias_id?: string;
  /** The channel on which the session was opened. */
  platform: string;
  /** Channels of one namespace share their sessions. Channels of other namespaces cannot use this session. */
  namespace: string;
  /**
   * Whether the daemon generated the id. A generated id is secret enough to identify a person (agentd-message(7),
   * "Session ids").
   */
  generated: boolean;
  /**
   * The tag of the anonymous client that began the session (`clientTag`). Absent if there is none, or if the
   * session has an owner.
   */
  client?: string;
  /**
   * The person to whom the session belongs: the person of its first valid token. Null before that token; afterward it
   * never changes.
   */
  owner: PersonKey | null;
  metadata: { jwt_context?: JwtContext };
  /** The owner of `jwt_context`: the channel user who brought the token, and the person of the token. */
  credential_owner: { user_id: string; person: PersonKey } | null;
  /** The number of turns that the loop guard let through. */
  turns: number;
  /** All three times are in ms since the epoch. */
  created_at: number;
  last_active_at: number;
  expires_at: number;
}

/**
 * The permanent name of a session, which is its first id. The lock, the count of turns and the seal of the stored token
 * use this name.
 */
export function sessionTag({ session_id, former_id }: Pick<Session, 'session_id' | 'former_id'>): string {
  return former_id ?? session_id;
}

/** One message and its reply, as they are stored with the session. */
export interface StoredTurn {
  turn_id: string;
  request_id: string;
  message_id: string | null;
  /** The channel user who sent the message. */
  user_id: string;
  /** The person for whom the turn acted; the reply may contain that person's data. Null if there was none. */
  person: PersonKey | null;
  text: string;
  /** Null if the turn failed. */
  reply: string | null;
  /**
   * Where the daemon's lines about the writes are in the reply. A run gets the reply without them. Absent if there are
   * none.
   */
  receipt_lines?: { begins_at: number; ends_at: number };
  outcome: 'answered' | 'failed';
  /** Set if the person stopped the answer. The reply is then the text up to that point, which may be empty. */
  stopped?: true;
  /** The error code if the turn failed; otherwise null. */
  failure: string | null;
  /** The tokens that the model calls of the turn used; absent if there was no call. */
  usage?: { input_tokens: number; output_tokens: number };
  credentials: 'user' | 'default';
  credentials_reason: string;
  /**
   * Whether the run may have read results of tools of an origin other than that of API_BASE_URL (`RunTaint`). Absent if
   * that is not known; the turn then counts as tainted.
   */
  tainted?: boolean;
  /**
   * The calls of tools and their answers (`PastCall[]`), sealed (`closeTurnText`). Absent if nothing was called, or if
   * the session keeps no more calls.
   */
  calls?: string;
  /**
   * The size of all calls that the session keeps for the principal of this turn, in bytes of JSON; absent if there are
   * none.
   */
  calls_bytes?: number;
  /** The state that the runtime has set for the principal of this turn, sealed; absent if it was not set. */
  state?: string;
  started_at: number;
  finished_at: number;
}

/** Whether a run that is given this turn is tainted (`RunTaint`). */
export function isTainted({ tainted }: Pick<StoredTurn, 'tainted'>): boolean {
  return tainted !== false;
}

/** The parts of a turn that are sealed, because they may have any data that the person may see. */
type TurnText = 'calls' | 'state';

type TurnOfPerson = Pick<StoredTurn, 'turn_id' | 'person'>;

/** Seals a part of a turn. A part that is copied to another turn, or to a turn of another person, cannot be opened. */
export function closeTurnText(
  seal: Pick<Seal, 'close'>,
  turn: TurnOfPerson,
  field: TurnText,
  value: unknown,
): string {
  return seal.close(JSON.stringify(value), toRecordKey(turn, field));
}

/** Opens a part of a turn. Undefined if there is none, or if no encryption key opens it. */
export function openTurnText(
  seal: Pick<Seal, 'open'>,
  turn: TurnOfPerson & Pick<StoredTurn, TurnText>,
  field: TurnText,
): unknown {
  const stored = turn[field];
  const text = stored === undefined ? null : seal.open(stored, toRecordKey(turn, field));
  return text === null ? undefined : (JSON.parse(text) as unknown);
}

function toRecordKey({ turn_id, person }: TurnOfPerson, field: TurnText): string {
  return `turn:${JSON.stringify([turn_id, person, field])}`;
}

/**
 * Generates an id of the form `<channel>_<user_id>_<suffix>` (agentd-message(7), "Session ids"). The suffix contains
 * 128 random bits.
 */
export function generateSessionId(channel: string, user_id: string): string {
  return `${channel}_${user_id}_${randomSuffix()}`;
}

/** Whether the id has the form of a generated id. A client may choose an id of this form, too. */
export function isLikeGenerated(session_id: string): boolean {
  return /_[A-Za-z0-9_-]{22}$/.test(session_id);
}

/**
 * Whether the id has the prefix of ids that channels choose themselves (`name:`). No web client may use such ids.
 * @param active the names of the active channels, including those of third parties.
 */
export function isChannelSessionId(session_id: string, active: readonly string[]): boolean {
  const colon = session_id.indexOf(':');
  if (colon < 1) return false;
  const name = session_id.slice(0, colon);
  return active.includes(name) || (RESERVED_CHANNEL_NAMES as readonly string[]).includes(name);
}

const RANDOM_PART = /(_[A-Za-z0-9_-]{6})[A-Za-z0-9_-]{16}(?![A-Za-z0-9_-])/g;

/**
 * Shortens an id for log lines. Generated ids are capabilities, so only 6 characters of their random part are shown
 * (agentd-message(7), "Session ids"). Accepts an id, or a path that contains one.
 */
export function shortId(id: string): string {
  return id.replace(RANDOM_PART, '$1…');
}

/** Length of a tag. Two clients hardly ever share a tag of this length. If they do, they only share a limit. */
const TAG_LENGTH = 12;

/**
 * The tag under which the sessions of an anonymous client are counted. Tags are only compared, so the address itself
 * need not be stored.
 * @param address the client's address; for IPv6, its /64 network.
 */
export function clientTag(address: string): string {
  return hash('sha256', address, 'base64url').slice(0, TAG_LENGTH);
}
