import type { LocalTexts } from '../texts/texts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The text for a person whose message does not fit into what is left of AGENT_DAILY_TOKENS.
 * @param retry_after_ms null if waiting does not help, because the message alone exceeds the limit.
 */
export function budgetNotice(texts: LocalTexts, retry_after_ms: number | null): string {
  if (retry_after_ms === null) return texts.say('budget_too_long');
  return texts.say('budget_notice', { wait: inWords(texts, retry_after_ms) });
}

function inWords(texts: LocalTexts, ms: number): string {
  if (ms <= MINUTE_MS) return texts.say('wait_minute');
  if (ms <= HOUR_MS) return texts.say('wait_minutes', { count: String(Math.ceil(ms / MINUTE_MS)) });
  const hours = Math.ceil(ms / HOUR_MS);
  return hours === 1 ? texts.say('wait_hour') : texts.say('wait_hours', { count: String(hours) });
}
