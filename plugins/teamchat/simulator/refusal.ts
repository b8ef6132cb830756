import type { SimulatedRefusal, SimulatedRefused } from '../../../src/channel/index.ts';

/** The Web API answers errors of the caller with status 200 (https://docs.slack.dev/apis/web-api). */
const ERRORS: Readonly<Record<number, { status: number; error: string }>> = {
  401: { status: 200, error: 'invalid_auth' },
  403: { status: 200, error: 'missing_scope' },
  404: { status: 200, error: 'channel_not_found' },
  408: { status: 200, error: 'request_timeout' },
  413: { status: 200, error: 'msg_too_long' },
  429: { status: 429, error: 'ratelimited' },
  500: { status: 500, error: 'internal_error' },
  503: { status: 503, error: 'service_unavailable' },
};
/** The wait after a 429 if the simulation does not set one, in seconds. The platform always sends a wait. */
const RETRY_AFTER = 1;

/** An error of the Web API. */
export function refusalOf({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const known = ERRORS[status] ?? {
    status: status < 500 ? 200 : status,
    error: status < 500 ? 'invalid_arguments' : 'fatal_error',
  };
  const seconds = retry_after_seconds ?? (status === 429 ? RETRY_AFTER : null);
  return {
    status: known.status,
    headers: seconds === null ? {} : { 'Retry-After': String(seconds) },
    body: { ok: false, error: known.error },
  };
}
