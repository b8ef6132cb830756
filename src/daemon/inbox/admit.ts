import type { ChannelPlugin } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { textHash } from '../guard/equal-text.ts';
import { guardLimits } from '../guard/limits.ts';
import { tell } from '../guard/tell.ts';
import { guardUser } from '../guard/user.ts';
import type { BlockedByTurnLimit, GuardedMessage, GuardVerdict } from '../guard/verdict.ts';
import { verdictLine } from '../guard/verdict-line.ts';
import type { Services } from '../services.ts';
import type { Consequence, NewInboxMessage } from '../store/inbox.ts';
import type { TraceRecord } from '../trace/trace-record.ts';
import { saidText } from './said-text.ts';

/** A message that came from somebody, not a text that is said. */
export type ArrivedMessage = NewInboxMessage & {
  message: NonNullable<NewInboxMessage['message']>;
  session_id: string;
};

/**
 * Has the loop guard check messages as they arrive (decisions §7), and keeps those that it lets through: the
 * platform's time is the guard's clock, and a delivery that is repeated gets the first verdict. What is
 * blocked is kept as a trace alone, since a reply would feed the loop; but the first message over the limit of
 * its session is answered with one notice (decisions §6).
 * @returns what became of each, once that is durable.
 * @throws unavailable where too many wait.
 */
export async function admit(
  plugin: ChannelPlugin,
  services: Services,
  arrived: readonly ArrivedMessage[],
): Promise<('kept' | 'repeated' | 'blocked')[]> {
  if (!services.settings.LOOP_GUARD_ENABLED)
    return (await services.store.inbox.enqueue(arrived)) ?? tooMany();
  const guarded = arrived.map(guardedOf);
  const follow = (verdict: GuardVerdict, place: number) =>
    consequenceOf(verdict, arrived[place] as ArrivedMessage, plugin, services);
  const { inbox } = services.store;
  const { verdicts, outcomes } = await inbox.admit(guarded, guardLimits(services.settings), follow);
  arrived.forEach(({ request_id }, place) => {
    tell(verdicts[place] as GuardVerdict, guarded[place] as GuardedMessage, request_id, services.log);
  });
  return (outcomes ?? tooMany()).map((outcome, place) => {
    return verdicts[place]?.allowed && outcome !== null ? outcome : 'blocked';
  });
}

function guardedOf({ message, session_id, platform, message_id, sent_at }: ArrivedMessage): GuardedMessage {
  const user = guardUser({ platform, user_id: message.user_id, person: null, address: null });
  return { user, session_id, text: textHash(message.text), message_id, sent_at };
}

function consequenceOf(
  verdict: GuardVerdict,
  message: ArrivedMessage,
  plugin: ChannelPlugin,
  services: Services,
): Consequence {
  if (verdict.allowed) return { keep: message, trace: null };
  if (verdict.repeated) return { keep: null, trace: null };
  const tellSender = verdict.reason === 'turn_limit' && verdict.first;
  return {
    keep: tellSender ? saidText(plugin, services, message.reply_to, turnLimitNotice(verdict)) : null,
    trace: traceOf(message, verdict, services),
  };
}

/** What people read when their session is used up: when it goes on (decisions §6). */
function turnLimitNotice({ max, ends_at }: BlockedByTurnLimit): string {
  const when = new Date(ends_at).toISOString().slice(0, 16).replace('T', ' ');
  return `This conversation has had all of its ${max} messages. It goes on after ${when} (UTC).`;
}

function traceOf(
  { id, request_id, session_id, message_id, platform, message }: ArrivedMessage,
  verdict: GuardVerdict,
  { clock }: Services,
): TraceRecord {
  const now = clock.now();
  return {
    turn_id: id,
    request_id,
    session_id,
    message_id,
    platform,
    user_id: message.user_id,
    started_at: now,
    finished_at: now,
    outcome: 'loop_guard_blocked',
    lines: [{ at: now, step: 'guard', verdict: 'refused', ...verdictLine(verdict) }],
  };
}

/** Nothing was taken; the platform comes again. */
export function tooMany(): never {
  throw new AgentdError('unavailable', 'Too many messages are waiting.', { retryAfter: 30 });
}
