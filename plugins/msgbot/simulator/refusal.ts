import { STATUS_CODES } from 'node:http';
import type { SimulatedRefusal, SimulatedRefused } from '../../../src/channel/index.ts';

/** Errors about a message, in the words of the platform's server. For all others the status is enough. */
const WORDS: Readonly<Record<number, string>> = {
  400: 'Bad Request: chat not found',
  403: 'Forbidden: bot was blocked by the user',
};
/** How long to wait, seconds, if the simulation names no time. The platform always names one. */
const RETRY_AFTER = 1;

/** An error of the Bot API ("Making requests", "ResponseParameters"). The wait is in the body, not in a header. */
export function refusalOf({ status, retryAfterSeconds }: SimulatedRefusal): SimulatedRefused {
  const retry_after = retryAfterSeconds ?? (status === 429 ? RETRY_AFTER : null);
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
