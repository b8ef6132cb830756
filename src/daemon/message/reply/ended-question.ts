import type { ClosedQuestion } from '../../../channel/index.ts';
import { formatMinute } from '../../../channel/setting.ts';
import type { Action, ActionState } from '../../store/actions/actions.ts';
import type { ProseName } from '../../texts/text-records.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { stateNow } from '../../tools/journal/action-record.ts';

/** Longest text that every platform shows to the person who pressed a button, in characters. */
const LINE_MAX = 200;

/** How people read the time. */
interface Reading {
  texts: LocalTexts;
  /** IANA name; null: UTC. */
  timezone: string | null;
}

/** Says when a question ended that was not answered in time, on one line of plain text. */
export function describeLateAnswer(question: Pick<Action, 'expires_at'>, reading: Reading): string {
  return describeLateness(question, reading).outcome;
}

function describeLateness(
  { expires_at }: Pick<Action, 'expires_at'>,
  { texts, timezone }: Reading,
): Decision {
  const at = expires_at ?? 0;
  return withTime(at, timeOfDay(at, timezone).slice(0, 5), (time) => texts.say('confirm_late', { time }));
}

/**
 * What became of the actions of a question, on one line of plain text. Null if they are still pending, or if there is no
 * room for it.
 */
export function describeOutcome(actions: readonly Action[], now: number, reading: Reading): string | null {
  const [first] = actions;
  if (first === undefined) return null;
  const outcomes = actions.map((action) => stateNow(action, now));
  if (outcomes.includes('pending')) return null;
  if (outcomes[0] === 'expired') return describeLateAnswer(first, reading);
  const line = outcomesInWords(outcomes, reading.texts);
  return line.length > LINE_MAX ? null : line;
}

/** What a question says once it was decided, and the time in it. */
type Decision = Pick<ClosedQuestion, 'outcome' | 'time'>;

/**
 * Who decided about a question and when, and what became of its actions, on one line of plain text. Null if it is still
 * open. Called when the answer has been processed: an action that has no outcome then will have none.
 */
export function decisionInWords(
  actions: readonly Action[],
  now: number,
  reading: Reading & { who: string },
): Decision | null {
  const [first] = actions;
  const outcomes = actions.map((action) => {
    const outcome = stateNow(action, now);
    return outcome === 'started' ? 'unknown' : outcome === 'confirmed' ? 'withdrawn' : outcome;
  });
  if (first === undefined || outcomes.includes('pending')) return null;
  const decided = actions.map(({ answered_at = Infinity }) => answered_at);
  const at = Math.min(...decided);
  const { texts, timezone, who } = reading;
  if (at === Infinity)
    return outcomes[0] === 'expired'
      ? describeLateness(first, reading)
      : { outcome: outcomesInWords(outcomes, texts) };
  // The line stays in the chat, where others may read it, too.
  return withTime(at, timeOfDay(at, timezone), (time) =>
    outcomes.every((outcome) => outcome === 'declined')
      ? texts.say('decided_no', { who, time })
      : `${texts.say('decided_yes', { who, time })} ${outcomesInWords(outcomes, texts)}`,
  );
}

/** Stands for the time until its place in the text is known. Names have no control characters. */
const PLACE = '\0';

/** @param say returns the text with this time in it; a text of the operator may leave it out */
function withTime(at: number, words: string, say: (time: string) => string): Decision {
  const begins_at = say(PLACE).indexOf(PLACE);
  const outcome = say(words);
  return begins_at < 0 ? { outcome } : { outcome, time: { at, begins_at, words } };
}

/** What became of each action; several are numbered, those with the same outcome together. */
function outcomesInWords(outcomes: readonly ActionState[], texts: LocalTexts): string {
  const groups = Map.groupBy(outcomes.keys(), (index) => texts.say(TEXT_OF[outcomes[index] ?? 'withdrawn']));
  return groups.size === 1
    ? [...groups.keys()].join('')
    : [...groups]
        .map(([text, numbers]) => `${numbers.map((index) => index + 1).join(', ')}: ${text}`)
        .join(' ');
}

const TEXT_OF = {
  done: 'became_done',
  failed: 'became_failed',
  unknown: 'became_unknown',
  started: 'became_running',
  confirmed: 'became_running',
  declined: 'became_declined',
  withdrawn: 'became_withdrawn',
  expired: 'became_withdrawn',
  pending: 'became_withdrawn',
} as const satisfies Record<ActionState, ProseName>;

/** `13:00`, or `12:00 UTC` if the zone is not known. */
function timeOfDay(at: number, timezone: string | null): string {
  return formatMinute(at, timezone).slice('2026-01-31 '.length);
}
