const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * What a person is told whose AGENT_DAILY_TOKENS are used up.
 * @param retry_after_ms null: this message is too long for the limit, whenever it is sent.
 */
export function budgetNotice(retry_after_ms: number | null): string {
  if (retry_after_ms === null)
    return 'I cannot answer this: it takes more than I may use for one person in a day.';
  return `I cannot answer now: what I may use for one person in a day is used up. Please try again in about ${inWords(retry_after_ms)}.`;
}

function inWords(ms: number): string {
  if (ms <= MINUTE_MS) return 'a minute';
  if (ms <= HOUR_MS) return `${Math.ceil(ms / MINUTE_MS)} minutes`;
  const hours = Math.ceil(ms / HOUR_MS);
  return hours === 1 ? 'an hour' : `${hours} hours`;
}
