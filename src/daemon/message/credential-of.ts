import type { Credential, TokenVerdict } from '../identity/identity.ts';
import type { StepLine } from '../trace/trace-record.ts';

/** What a token proves about the sender. Also writes the result to the step's line of the trace. */
export function credentialOf(verdict: TokenVerdict, line: StepLine): Credential {
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
