import type { ChannelRequest, Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { LogoutClaims, LogoutVerdict } from '../identity/logout-token.ts';
import type { Log } from '../process/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { AddOutcome } from '../store/sign-out-marks.ts';
import type { Store } from '../store/store.ts';
import { countRequest } from './rate-limit.ts';

interface BackChannelLogoutParts {
  /** Read at each request: they may change. */
  readonly settings: Pick<Settings, 'RATE_LIMIT_ANONYMOUS_MAX' | 'RATE_LIMIT_WINDOW_SECONDS'>;
  store: Pick<Store, 'limits'>;
  logoutTokens: { validate(token: string, request_id: string): Promise<LogoutVerdict> };
  /** Stores the mark, and ends what it covers. */
  signOut(signOut: LogoutClaims): Promise<AddOutcome>;
  log: Pick<Log, 'info'>;
}

/** Seconds after which the site may send a logout token again that could not be checked. */
const RETRY_AFTER_SECONDS = 60;

/**
 * `POST /backchannel-logout` (agentd-service(7)): the site says that a person has signed out. The answer does not tell
 * whether the person was known here.
 *
 * Only requests without a new valid token count for the rate limit: all sign-outs of a site come from one address, and
 * one that is refused would leave the person signed in.
 */
export function backChannelLogout(parts: BackChannelLogoutParts): Route {
  const { store, logoutTokens, log } = parts;

  async function count({ address }: ChannelRequest): Promise<Record<string, string>> {
    const { RATE_LIMIT_ANONYMOUS_MAX: max, RATE_LIMIT_WINDOW_SECONDS: seconds } = parts.settings;
    const window = { policy: 'address', max, seconds } as const;
    const { headers, refusal } = await countRequest(store, `http:logout:${address}`, window);
    if (refusal !== null) throw refusal;
    return headers;
  }

  return {
    method: 'POST',
    path: '/backchannel-logout',
    contentType: 'application/x-www-form-urlencoded',
    async handle(request) {
      const tokens = request.form().getAll('logout_token');
      const [token = ''] = tokens;
      const verdict: LogoutVerdict =
        tokens.length === 1 && token !== ''
          ? await logoutTokens.validate(token, request.id)
          : { valid: false, reason: 'give one `logout_token`' };
      if (verdict.valid === 'unknown') {
        await count(request);
        const detail = 'The logout token cannot be checked at the moment.';
        throw new AgentdError('unavailable', detail, {
          retryAfter: RETRY_AFTER_SECONDS,
          cause: verdict.cause,
        });
      }
      if (!verdict.valid) {
        const headers = await count(request);
        const errors = [{ field: 'logout_token', message: verdict.reason }];
        throw new AgentdError('invalid_request', `The logout token is not valid: ${verdict.reason}.`, {
          errors,
          headers,
        });
      }
      const outcome = await parts.signOut(verdict.claims);
      if (outcome === 'repeated') return { headers: await count(request) };
      const { sub, sid } = verdict.claims;
      log.info(
        { request_id: request.id, ...(sub === null ? {} : { sub }), of_session: sid !== null },
        'signed out at the site',
      );
      return {};
    },
  };
}
