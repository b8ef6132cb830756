import type { ChannelPlugin } from '../../channel/index.ts';
import { type Arrival, toArrivedChannel } from '../message/arrival.ts';
import type { Outlet } from '../message/outlet.ts';
import type { Answering, Deduplicated, Guarded } from '../message/turn.ts';
import { textOfTurn } from '../store/inbox/collect-turn.ts';
import type { InboxMessage } from '../store/inbox/inbox.ts';
import type { Cancellation } from '../time/time-limit.ts';

/** The members of a message in the inbox from which its turn is made. */
type Queued = Pick<
  InboxMessage,
  'id' | 'request_id' | 'session_id' | 'message' | 'message_id' | 'reply_to' | 'rerun' | 'received_at'
>;

interface RunParts {
  plugin: ChannelPlugin;
  outlet: Outlet;
  /** Ended when the claim of the message is lost. */
  lost: Cancellation;
  /** The further messages that the turn answers. */
  collected?: readonly Queued[];
}

/** A message of the inbox as it arrives at the steps. */
export function toArrival(
  first: Queued,
  { plugin, outlet, lost, collected = [] }: RunParts,
): Arrival<Answering & Deduplicated & Guarded> {
  const { id, request_id, session_id, message_id, reply_to, rerun } = first;
  if (first.message === null || session_id === null) throw new Error('a text without a message has no run');
  const { parent_span, edited = false, ...message } = first.message;
  const text = textOfTurn([first, ...collected]);
  const further = collected.map((one) => ({
    id: one.id,
    message_id: one.message_id,
    request_id: one.request_id,
  }));
  return {
    turn_id: id,
    request_id,
    message: { ...message, text, ...(message_id === null ? {} : { message_id }), reply_to },
    ...(further.length === 0 ? {} : { collected: further }),
    ...(rerun === undefined ? {} : { rerun }),
    session_id,
    session_is_generated: false,
    channel: toArrivedChannel(plugin),
    address: null,
    validated: null,
    ticket: null,
    parent_span,
    edited: edited || collected.some((one) => one.message?.edited === true),
    outlet,
    stopped: null,
    // The person wrote it before the first run.
    accepted_at: rerun?.received_at ?? first.received_at,
    lost,
    patient: true,
    reader: null,
    changes: {},
    // The message was deduplicated and checked by the guard before it was enqueued.
    key: null,
    counted_in: null,
  };
}
