import type { ChannelRequest, Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { LogoutClaims, LogoutVerdict } from '../identity/logout-token.ts';
import type { Log } from '../process/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { AddOutcome } from '../store/links/sign-out-marks.ts';
import type { Store } from '../store/store.ts';
import { countRequest } from './rate-limit.ts';

/** Read at each request: a reload replaces the settings and the validator. */
interface LogoutServices {
  readonly settings: Pick<Settings, 'RATE_LIMIT_ANONYMOUS_MAX' | 'RATE_LIMIT_WINDOW_SECONDS'>;
  store: Pick<Store, 'limits'>;
  /** Null if logout tokens are not accepted. */
  readonly logoutTokens: { validate(token: string, request_id: string): Promise<LogoutVerdict> } | null;
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
 * @param signOut stores the mark, and ends what it covers
 */
export function backChannelLogout(
  services: LogoutServices,
  signOut: (claims: LogoutClaims) => Promise<AddOutcome>,
): Route {
  const { store, log } = services;

  async function count({ address }: ChannelRequest): Promise<Record<string, string>> {
    const { RATE_LIMIT_ANONYMOUS_MAX: max, RATE_LIMIT_WINDOW_SECONDS: seconds } = services.settings;
    const window = { policy: 'address', max, seconds } as const;
    const { headers, refusal } = await countRequest(store, `http:logout:${address}`, window);
    if (refusal !== null) throw refusal;
    return headers;
  }

  async function validate(request: ChannelRequest): Promise<LogoutVerdict> {
    const tokens = request.form().getAll('logout_token');
    const [token = ''] = tokens;
    if (tokens.length !== 1 || token === '') return { valid: false, reason: 'give one `logout_token`' };
    const { logoutTokens } = services;
    if (logoutTokens === null) return { valid: false, reason: 'logout tokens are not accepted' };
    return logoutTokens.validate(token, request.id);
  }

  return {
    method: 'POST',
    path: '/backchannel-logout',
    contentType: 'application/x-www-form-urlencoded',
    async handle(request) {
      const verdict = await validate(request);
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
      const outcome = await signOut(verdict.claims);
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
