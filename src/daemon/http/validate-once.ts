import type { ChannelRequest } from '../../channel/index.ts';
import type { TokenValidator } from '../identity/identity.ts';
import { ReceivedRequest } from './received-request.ts';

/**
 * A validator for the tokens of one request. Even if several parts ask, it validates the request's token only once, so
 * that the log has only one line about the token, with the request id.
 * @param request if absent, each call validates the token again
 */
export function validateOnce(tokens: TokenValidator, request: ChannelRequest | undefined): TokenValidator {
  const received = ReceivedRequest.of(request);
  if (received === null) return tokens;
  return {
    async validate(token) {
      if (received.validated?.token === token) return received.validated.verdict;
      const verdict = await tokens.validate(token, received.id);
      received.validated ??= { token, verdict };
      return verdict;
    },
  };
}
