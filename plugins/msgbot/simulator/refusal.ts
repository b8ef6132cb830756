import { STATUS_CODES } from 'node:http';
import type { SimulatedRefusal, SimulatedRefused } from '../../../src/channel/index.ts';

/** Errors that concern a message, as the platform's server words them. Other errors are named after their status. */
const WORDS: Readonly<Record<number, string>> = {
  400: 'Bad Request: chat not found',
  403: 'Forbidden: bot was blocked by the user',
};
/** The wait after a 429 if the simulation does not set one, in seconds. The platform always sends a wait. */
const RETRY_AFTER = 1;

/** An error of the Bot API ("Making requests", "ResponseParameters"). The wait is in the body, not in a header. */
export function refusalOf({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const retry_after = retry_after_seconds ?? (status === 429 ? RETRY_AFTER : null);
  const words = WORDS[status] ?? STATUS_CODES[status] ?? 'Unknown Error';
  return {
    status,
    body: {
      ok: false,
      error_code: status,
      description: status === 429 ? `${words}: retry after ${retry_after}` : words,
      ...(retry_after === null ? {} : { parameters: { retry_after } }),
    },
  };
}
