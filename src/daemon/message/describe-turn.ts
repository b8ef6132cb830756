import type { Services } from '../services.ts';
import { shortId } from '../session/ids.ts';
import type { Arrived } from './turn.ts';

/** What a log line says of a turn. */
export function describeTurn(turn: Arrived, { clock }: Pick<Services, 'clock'>): Record<string, unknown> {
  return {
    request_id: turn.request_id,
    channel: turn.channel.name,
    session: shortId(turn.session_id),
    took_ms: clock.now() - turn.started_at,
    ...(turn.opened_by === undefined ? {} : { opened_by: turn.opened_by }),
  };
}
