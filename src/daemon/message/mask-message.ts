import type { IncomingMessage, MessageMetadata } from '../../channel/index.ts';
import { maskTokens } from '../settings/secret.ts';

/**
 * A message with its text trimmed, and with everything masked that looks like a token (agentd-identity(7), "Logging").
 */
export function maskMessage(message: IncomingMessage): IncomingMessage {
  const { text, metadata, confirm } = message;
  const answer = confirm === undefined ? {} : { confirm: { ...confirm, id: maskTokens(confirm.id) } };
  return { ...message, text: maskTokens(text.trim()), metadata: maskMetadata(metadata), ...answer };
}

/** Metadata with everything masked that looks like a token, except in the documented field. */
function maskMetadata({ jwt_token, ...claims }: MessageMetadata): MessageMetadata {
  const masked = maskValue(claims) as MessageMetadata;
  return jwt_token === undefined ? masked : { ...masked, jwt_token };
}

function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskTokens(value);
  if (Array.isArray(value)) return value.map(maskValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [maskTokens(name), maskValue(member)]),
  );
}
