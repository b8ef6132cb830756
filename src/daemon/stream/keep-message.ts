import { randomSuffix } from '../clock.ts';
import { type PersonKey, personOf } from '../identity/identity.ts';
import { fingerprint, otherBody, reportRepeat } from '../message/recognise-repeat.ts';
import { ENDED, type Step } from '../message/sequence.ts';
import type { Arrived, Guarded, Identified, Repeatable } from '../message/turn.ts';
import type { Services } from '../services.ts';
import type { StreamRecord } from '../store/streams.ts';

/** A message that has arrived to be kept. */
export interface Starting extends Arrived {
  /** How long it waits to be opened, and is found after its end. */
  ttl_ms: number;
  /** The person of the valid cookie that came with it. */
  cookie_person: PersonKey | null;
  /** Told once, which stream it will be answered on. */
  started(stream: StartedStream): void;
}

export interface StartedStream {
  stream_id: string;
  session_id: string;
}

/**
 * The message is on disk, under a new stream, its token sealed. Ends the way of the message for now.
 *
 * Throws `idempotency_key_reused` where another body took the key at the same moment.
 */
export const keepMessage: Step<Starting & Identified & Repeatable & Guarded, object> = {
  name: 'keep-message',
  async run(turn, services) {
    await keep(turn, turn.idempotency_key, services);
    return ENDED;
  },
};

/** Where two come at once with one key, both get the stream of the first. */
export async function keep(
  turn: Starting & Identified,
  key: string | null,
  services: Services,
): Promise<void> {
  const { presented, session_id } = turn;
  const { jwt_token, ...metadata } = turn.message.metadata;
  const stream_id = `${turn.channel.name}_${randomSuffix()}`;
  const body = fingerprint(turn.message);
  const kept = await services.store.streams.create({
    stream_id,
    idempotency_key: key,
    fingerprint: body,
    owner: personOf(presented),
    token: jwt_token ? services.seal.close(jwt_token, tokenRecord(stream_id)) : null,
    start: {
      request_id: turn.request_id,
      session_id,
      session_is_generated: turn.session_is_generated,
      message: {
        ...turn.message,
        metadata: jwt_token === null ? { ...metadata, jwt_token } : metadata,
      },
      address: turn.address,
      token_given: Boolean(jwt_token),
      ...(presented.kind === 'invalid' ? { token_refused: presented.reason } : {}),
      cookie_person: turn.cookie_person,
      trace: turn.trace.finished(),
    },
    ttl_ms: turn.ttl_ms,
  });
  if (kept.stream_id !== stream_id) answerAgain(turn, kept, services);
  else turn.started({ stream_id, session_id });
}

/** A repeat gets the stream of the first one. @throws `idempotency_key_reused` */
export function answerAgain(turn: Starting, stream: StreamRecord, services: Services): void {
  if (stream.fingerprint !== fingerprint(turn.message)) throw otherBody();
  reportRepeat(turn, services);
  turn.started({ stream_id: stream.stream_id, session_id: stream.start.session_id });
}

/** What the sealed token of a stream belongs to. */
export function tokenRecord(stream_id: string): string {
  return `stream:${stream_id}`;
}
