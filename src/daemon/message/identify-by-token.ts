import type { Credential, TokenVerdict } from '../identity/identity.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Identified } from './turn.ts';

type Uses = Pick<Services, 'tokens'>;

/**
 * Finds out who sent the message, by the token that came with it (agentd-identity(7), "The identity of a message").
 *
 * Checks the token in `metadata.jwt_token`, once per message: if the token was already validated with the request, that
 * verdict is used. Adds `credential`. Never ends the turn: if the token is not valid, default credentials are used.
 */
export const identifyByToken: Step<Arrived, Identified> = {
  name: 'identify',
  run({ message, validated, request_id }, { tokens }: Uses, line) {
    const token = message.metadata.jwt_token;
    if (token === null) {
      line.reason = 'signed_out';
      return { credential: { kind: 'signed-out' } };
    }
    if (token === undefined || token === '') {
      line.reason = 'no_token';
      return { credential: { kind: 'none', reason: 'no_token' } };
    }
    if (validated?.token === token) return { credential: toCredential(validated.verdict, line) };
    return tokens
      .validate(token, request_id)
      .then((verdict) => ({ credential: toCredential(verdict, line) }));
  },
};

/** What a token proves about the sender. Also writes the result to the step's line of the trace. */
export function toCredential(verdict: TokenVerdict, line: StepLine): Credential {
  if (!verdict.valid) {
    line.verdict = 'fallback';
    line.reason = verdict.reason;
    return { kind: 'invalid', reason: verdict.reason };
  }
  line.reason = 'valid_token';
  const { key } = verdict;
  line.detail = {
    sub: verdict.user.user_id,
    expires: new Date(verdict.expires_at).toISOString(),
    ...(key === undefined ? {} : { key }),
  };
  return { kind: 'person', verdict };
}
