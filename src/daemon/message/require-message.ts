import { checkMessage } from '../../channel/check-message.ts';
import type { ChannelPlugin, IncomingMessage } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';

/** Refuses messages of a channel that do not follow the contract. @throws `invalid_request` */
export function requireMessages(plugin: ChannelPlugin, messages: readonly IncomingMessage[]): void {
  refuse(messages.flatMap((message, index) => checkMessage(message, plugin, `messages[${index}]`)));
}

/** Refuses a message that does not follow the contract. @throws `invalid_request` */
export function requireMessage(plugin: ChannelPlugin, message: IncomingMessage): void {
  refuse(checkMessage(message, plugin, 'message'));
}

function refuse(errors: ReturnType<typeof checkMessage>): void {
  if (errors.length > 0)
    throw new AgentdError('invalid_request', 'A message cannot be accepted.', { errors });
}
