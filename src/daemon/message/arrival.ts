import type { ChannelPlugin, IncomingMessage } from '../../channel/index.ts';
import type { ValidatedToken } from '../identity/identity.ts';
import { generateSessionId } from '../session/ids.ts';
import { timeOrderedId } from '../time/clock.ts';
import type { Ticket } from '../time/tickets.ts';
import { maskMessage } from './mask-message.ts';
import { requireMessage } from './require-message.ts';
import type { Services } from './services.ts';
import type { Arrived, ArrivedChannel } from './turn.ts';

/** A message as it arrives; `withTurn` adds the rest of the turn. */
export type Arrival<Turn extends Arrived> = Omit<Turn, 'trace' | 'span' | 'started_at' | 'defer'>;

/** What the daemon knows about the request that brought a message. */
export interface Origin {
  request_id: string;
  /** Client address. */
  address: string;
  /** The token of the request with the result of its validation; null if the request had none. */
  validated: ValidatedToken | null;
  /** The request's position in the order of arrival; null if it has none. */
  ticket: Ticket | null;
  /** From `Observer.parentOf`. Absent if there is no parent. */
  parent_span?: string | undefined;
}

/**
 * A web client's message as it arrives.
 * @throws `invalid_request` if the message does not follow the contract.
 */
export function arrivalOf(
  plugin: ChannelPlugin,
  message: IncomingMessage,
  { request_id, address, validated, ticket, parent_span }: Origin,
  { clock }: Pick<Services, 'clock'>,
): Arrival<Arrived> {
  requireMessage(plugin, message);
  return {
    turn_id: timeOrderedId(clock.now()),
    request_id,
    message: maskMessage(message),
    session_id: message.thread_id ?? generateSessionId(plugin.name, message.user_id),
    session_is_generated: message.thread_id === null,
    channel: arrivedChannel(plugin),
    address,
    validated,
    ticket,
    parent_span,
  };
}

export function arrivedChannel({ name, delivery, capabilities, linking }: ChannelPlugin): ArrivedChannel {
  return {
    name,
    namespace: capabilities.namespace ?? name,
    has_platform: delivery === 'push',
    markdown: capabilities.markdown,
    linking,
  };
}
