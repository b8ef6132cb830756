import { budgetKey, type MeterParts, RunMeter } from '../agent/model-meter.ts';
import type { Trace } from '../trace/trace.ts';
import type { Services } from './services.ts';
import type { Answering, Resolved } from './turn.ts';

/**
 * The meter of the model calls of a turn. Their tokens count toward AGENT_DAILY_TOKENS of the sender.
 * @param deadline when reservations expire, ms since the epoch.
 * @param isLost whether the turn can no longer store anything.
 */
export function meterOfTurn(
  { channel, address, principal, message }: Answering & Resolved,
  { clock, log, settings, store, texts }: Pick<Services, 'clock' | 'log' | 'settings' | 'store' | 'texts'>,
  trace: Trace,
  { deadline, isLost }: Pick<MeterParts, 'deadline' | 'isLost'>,
): RunMeter {
  const max = settings.AGENT_DAILY_TOKENS;
  const key = budgetKey({ person: principal.person, channel, user_id: message.user_id, address });
  const budget = max === 0 ? null : { store: store.budgets, key, max };
  const claimed = principal.person === null ? null : principal.claims.locale;
  const said = texts.in(claimed, message.locale);
  return new RunMeter({ trace, clock, log, budget, deadline, isLost, texts: said });
}
