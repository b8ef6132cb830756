import { type PersonKey, personFrom } from '../identity/identity.ts';
import type { StreamRecord } from '../store/streams.ts';
import { randomSuffix } from '../time/clock.ts';
import { fingerprint, otherBody, reportRepeat } from './keys.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Guarded, Identified, Numbered } from './turn.ts';

type Uses = Pick<Services, 'store' | 'seal' | 'log'>;

/** A message that is stored until its stream is opened. */
export interface Starting extends Arrived {
  /** How long the stream waits to be opened, and how long it is kept after its end. */
  ttl_ms: number;
  /** The person of the valid cookie that came with the message. */
  cookie_person: PersonKey | null;
}

export interface StartedStream {
  stream_id: string;
  session_id: string;
}

/**
 * Stores the message with a new stream, and seals its token.
 *
 * Adds `stream`. Throws `idempotency_key_reused` if a message with a different body took the key at the same moment.
 */
export const createStream: Step<Starting & Identified & Numbered & Guarded, { stream: StartedStream }> = {
  name: 'create-stream',
  run: async (turn, services: Uses) => ({ stream: await createStreamForTurn(turn, turn, services) }),
};

/** Stores a new stream. If two messages with the same key arrive at the same time, both get the stream of the first. */
export async function createStreamForTurn(
  turn: Starting & Identified,
  { idempotency_key, counted_in }: Numbered & Guarded,
  services: Uses,
): Promise<StartedStream> {
  const { credential, session_id } = turn;
  const { jwt_token, ...metadata } = turn.message.metadata;
  const { store } = services;
  const stream_id = `${turn.channel.name}_${randomSuffix()}`;
  const stored = await store.streams.create({
    stream_id,
    idempotency_key,
    fingerprint: fingerprint(turn.message),
    owner: personFrom(credential),
    token: jwt_token ? services.seal.close(jwt_token, tokenRecord(stream_id)) : null,
    start: {
      request_id: turn.request_id,
      session_id,
      session_is_generated: turn.session_is_generated,
      counted_in,
      message: {
        ...turn.message,
        metadata: jwt_token === null ? { ...metadata, jwt_token } : metadata,
      },
      address: turn.address,
      token_given: Boolean(jwt_token),
      ...(credential.kind === 'invalid' ? { token_refused: credential.reason } : {}),
      cookie_person: turn.cookie_person,
      ...(turn.parent_span === undefined ? {} : { parent_span: turn.parent_span }),
      accepted_at: turn.started_at,
      trace: turn.trace.finished(),
    },
    ttl_ms: turn.ttl_ms,
  });
  return stored.stream_id === stream_id
    ? { stream_id, session_id }
    : expectSameStream(turn, stored, services);
}

/** Checks that a repeat has the same body as the first message of the stream. @throws `idempotency_key_reused` */
export function expectSameStream(turn: Starting, stream: StreamRecord, services: Uses): StartedStream {
  if (stream.fingerprint !== fingerprint(turn.message)) throw otherBody();
  reportRepeat(turn, services);
  return { stream_id: stream.stream_id, session_id: stream.start.session_id };
}

/** The record that the sealed token of a stream is bound to. */
export function tokenRecord(stream_id: string): string {
  return `stream:${stream_id}`;
}
