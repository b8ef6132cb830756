import { hash } from 'node:crypto';
import { checkMessage } from '../../channel/check-message.ts';
import type { ChannelPlugin, IncomingMessage, MessageMetadata } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { withoutCodes } from '../linking/codes-in-text.ts';
import { generateSessionId } from '../session/session.ts';
import { maskTokens } from '../settings/secret.ts';
import { copyOfJson, mapTexts } from '../syntax/json.ts';
import { timeOrderedId } from '../time/clock.ts';
import type { Services } from './services.ts';
import type { Arrived, ArrivedChannel } from './turn.ts';

/** A message as it arrives; `withTurn` adds the rest of the turn. */
export type Arrival<Turn extends Arrived> = Omit<
  Turn,
  'trace' | 'span' | 'started_at' | 'defer' | 'agent_digest'
>;

/** What the daemon knows about the request that brought a message. */
export interface Origin extends Pick<Arrived, 'request_id' | 'validated' | 'ticket' | 'parent_span'> {
  /** Client address. */
  address: string;
}

/**
 * A web client's message as it arrives.
 * @throws `invalid_request` if the message does not follow the contract.
 */
export function createArrival(
  plugin: ChannelPlugin,
  message: IncomingMessage,
  { request_id, address, validated, ticket, parent_span }: Origin,
  { clock }: Pick<Services, 'clock'>,
): Arrival<Arrived> {
  refuse(checkMessage(message, plugin, 'message'));
  const { message_id } = message;
  return {
    turn_id: timeOrderedId(clock.now()),
    request_id,
    message: {
      ...maskMessage(message),
      ...(message_id === undefined ? {} : { message_id: hideToken(message_id) }),
    },
    session_id: message.thread_id ?? generateSessionId(plugin.name, message.user_id),
    session_is_generated: message.thread_id === null,
    channel: toArrivedChannel(plugin),
    address,
    validated,
    ticket,
    parent_span,
  };
}

/**
 * The message of a web client with the link codes of people masked: somebody may paste one into the wrong window.
 * @throws `unavailable`
 */
export function withoutLinkCodes<Arriving extends { message: IncomingMessage }>(
  arrival: Arriving,
  services: Pick<Services, 'store' | 'seal'>,
): Arriving | Promise<Arriving> {
  const { message } = arrival;
  const masked = withoutCodes(message.text, services);
  if (typeof masked === 'string') return arrival;
  return masked.then((text) => ({ ...arrival, message: { ...message, text } }));
}

export function toArrivedChannel({ name, delivery, capabilities, linking }: ChannelPlugin): ArrivedChannel {
  return {
    name,
    namespace: capabilities.namespace ?? name,
    has_platform: delivery === 'push',
    markdown: capabilities.markdown,
    linking,
  };
}

/**
 * Copies of a channel's messages, so that nothing changes for one if the channel uses the object for another meanwhile.
 * @throws `invalid_request` if a message does not follow the contract.
 */
export function acceptMessages(
  plugin: ChannelPlugin,
  messages: readonly IncomingMessage[],
): IncomingMessage[] {
  refuse(messages.flatMap((message, index) => checkMessage(message, plugin, `messages[${index}]`)));
  return messages.map(copyMessage);
}

/** A copy of a channel's message, as `acceptMessages` makes it. @throws `invalid_request` */
export function acceptMessage(plugin: ChannelPlugin, message: IncomingMessage): IncomingMessage {
  refuse(checkMessage(message, plugin, 'message'));
  return copyMessage(message);
}

function copyMessage(message: IncomingMessage): IncomingMessage {
  const { metadata, reply_to } = message;
  return {
    ...message,
    metadata: copyOfJson(metadata),
    ...(reply_to === undefined ? {} : { reply_to: copyOfJson(reply_to) }),
  };
}

function refuse(errors: ReturnType<typeof checkMessage>): void {
  if (errors.length > 0)
    throw new AgentdError('invalid_request', 'A message cannot be accepted.', { errors });
}

/** An id that a client made from a token, as its hash: it still recognizes a repeat, but stores no token. */
function hideToken(id: string): string {
  return maskTokens(id) === id ? id : `sha256:${hash('sha256', id, 'hex')}`;
}

/** The members of a message. Nothing limits or masks others that a channel adds, such as what its platform has sent. */
const MEMBERS: Readonly<Record<keyof IncomingMessage, true>> = {
  platform: true,
  user_id: true,
  alias_id: true,
  channel_id: true,
  thread_id: true,
  workspace: true,
  text: true,
  confirm: true,
  locale: true,
  metadata: true,
  message_id: true,
  sent_at: true,
  shared: true,
  forwarded: true,
  reply_to: true,
};

/**
 * A message with its text trimmed, and with everything masked that looks like a token (agentd-identity(7), "Logging").
 * Members that the contract does not have are left out.
 */
export function maskMessage(message: IncomingMessage): IncomingMessage {
  const members = Object.entries(message).filter(([name]) => Object.hasOwn(MEMBERS, name));
  const known = Object.fromEntries(members) as unknown as IncomingMessage;
  const { text, metadata, confirm } = message;
  const answer = confirm === undefined ? {} : { confirm: { ...confirm, id: maskTokens(confirm.id) } };
  return { ...known, text: maskTokens(text.trim()), metadata: maskMetadata(metadata), ...answer };
}

/** Metadata with everything masked that looks like a token, except in the documented field. */
function maskMetadata({ jwt_token, ...claims }: MessageMetadata): MessageMetadata {
  const masked = mapTexts(claims, maskTokens) as MessageMetadata;
  return jwt_token === undefined ? masked : { ...masked, jwt_token };
}
