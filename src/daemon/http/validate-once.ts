import type { ChannelRequest } from '../../channel/index.ts';
import type { TokenValidator, TokenVerdict } from '../identity/identity.ts';
import { ReceivedRequest } from './request.ts';

/** A token that a request presented, and its one validation. */
export interface Validated {
  token: string;
  verdict: TokenVerdict;
}

/** The token of the request that has been validated, if any. */
export function validatedOf(request: ChannelRequest): Validated | null {
  return request instanceof ReceivedRequest ? request.validated : null;
}

/**
 * A validator for the tokens of one request: it validates the request's token once, however many parts ask, so
 * that the log has one line about it, with the id of the request.
 * @param request absent: each call is a validation of its own.
 */
export function validateOnce(tokens: TokenValidator, request: ChannelRequest | undefined): TokenValidator {
  if (!(request instanceof ReceivedRequest)) return tokens;
  return {
    async validate(token) {
      if (request.validated?.token === token) return request.validated.verdict;
      const verdict = await tokens.validate(token, request.id);
      request.validated ??= { token, verdict };
      return verdict;
    },
  };
}
