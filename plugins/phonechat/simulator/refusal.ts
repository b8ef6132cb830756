import type { SimulatedRefusal, SimulatedRefused } from '../../../src/channel/index.ts';
import { error } from './graph.ts';

interface PlatformError {
  message: string;
  code: number;
  /** Set if the details say more than the message. */
  details?: string;
}

/** Errors by their status (WhatsApp Business Platform, "Error codes"). */
const ERRORS: Readonly<Record<number, PlatformError>> = {
  401: { message: 'Error validating access token: the session has been invalidated.', code: 190 },
  403: { message: '(#10) Application does not have permission for this action', code: 10 },
  429: {
    message: '(#130429) Rate limit hit',
    code: 130429,
    details: 'Message failed to send: too many of them.',
  },
  500: { message: '(#131000) Something went wrong', code: 131000 },
  503: { message: 'Service temporarily unavailable', code: 2 },
};
const INVALID: PlatformError = { message: '(#131009) Parameter value is not valid', code: 131009 };
const BROKEN: PlatformError = { message: 'An unknown error occurred', code: 1 };

/** An error of the Cloud API. */
export function refusalOf({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const { message, code, details = message } = ERRORS[status] ?? (status < 500 ? INVALID : BROKEN);
  const { headers, body } = error(status, 'OAuthException', message, {
    code,
    error_data: { messaging_product: 'whatsapp', details },
  });
  const wait = retry_after_seconds === null ? {} : { 'Retry-After': String(retry_after_seconds) };
  return { status, headers: { ...headers, ...wait }, body };
}
