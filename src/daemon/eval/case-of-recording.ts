import { dump } from 'js-yaml';
import { isObject } from '../../channel/json-object.ts';
import type { RecordedRun, RecordedToolCall } from '../agent/recording.ts';
import { parseArguments } from '../replay/replay-tools.ts';
import type { Recording } from '../store/recordings.ts';
import { cutText } from '../texts/printable.ts';
import { waitsForPerson } from './eval-tools.ts';
import { Placeholders, type Replaced } from './placeholders.ts';

export interface MadeCase {
  name: string;
  /** The text of the file: a list with this case. */
  yaml: string;
  replaced: Replaced[];
  /** Values that could not be replaced. The case must not be kept. */
  left: string[];
  /** What the case does not have of the recording, in words. */
  notes: string[];
}

/** Longest part of the message in the name of the case, in characters. */
const NAME_MAX = 60;

/**
 * Makes a case of a recording. It has no data of the person and of anybody else: every claim, id of a platform, e-mail
 * address and number, and every string of a result, is replaced by a placeholder.
 * @param taken names that other cases have
 */
export function caseOfRecording(
  recording: Recording,
  run: RecordedRun,
  taken: ReadonlySet<string>,
): MadeCase {
  const { given, tool_calls } = run;
  const placeholders = collect(recording, run);
  const before = given.history
    .filter(({ before_sign_in, user }) => !before_sign_in && user.trim() !== '')
    .map(({ user, reply }) => ({ say: user, reply }));
  // The daemon asks again when the case runs.
  const calls = tool_calls.filter((call) => !waitsForPerson(call));
  // Only what comes from a conversation is replaced, not the names of the members of a case.
  const replaced = <T>(value: T) => placeholders.replaced(value);
  const personal = {
    as: given.person === null ? 'nobody' : mapMembers(restoreClaims(run), replaced),
    recorded: calls.map((call) => mapMembers(argumentsAndAnswer(call), replaced)),
    before: before.map((exchange) => mapMembers(exchange, replaced)),
    remembered: given.memories.map(({ text }) => replaced(text)),
    say: replaced(given.text),
  };
  const name = chooseName(personal.say, taken);
  const written = {
    name,
    as: personal.as,
    channel: given.channel.name,
    ...(calls.length === 0
      ? {}
      : { recorded: personal.recorded.map((one, index) => ({ tool: calls[index]?.tool, ...one })) }),
    ...(before.length === 0 ? {} : { before: personal.before }),
    ...(personal.remembered.length === 0 ? {} : { remembered: personal.remembered }),
    turns: [{ say: personal.say, expect: { calls: tool_calls.map(({ tool }) => tool) } }],
  };
  return {
    name,
    yaml: dump([written], { lineWidth: 110, noRefs: true }),
    replaced: placeholders.used,
    left: placeholders.left(collectValues(personal)),
    notes: listNotes(run),
  };
}

function mapMembers<T extends object>(object: T, change: <V>(value: V) => V): T {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)])) as T;
}

/** What must not have a value of the recording: all but the names of the members of a case. */
function collectValues({ as, recorded, before, remembered, say }: Record<string, unknown>): unknown[] {
  const members = (list: unknown) => (list as object[]).flatMap((one) => Object.values(one));
  const claims = typeof as === 'string' ? [] : Object.values(as as object);
  return [claims, members(recorded), members(before), remembered, say];
}

function collect(recording: Recording, { given, claims = [], tool_calls }: RecordedRun): Placeholders {
  const placeholders = new Placeholders();
  placeholders.claim(given.person);
  placeholders.claim(given.principal);
  placeholders.claim(given.claimed);
  placeholders.claim(claims);
  const { turn_id, request_id, message_id, session_id, session_tag, users, turns } = recording;
  const speakers = [given.speaker, ...given.history.map(({ speaker }) => speaker)];
  for (const id of [
    turn_id,
    request_id,
    message_id,
    session_id,
    session_tag,
    ...users,
    ...turns,
    ...speakers,
  ])
    placeholders.id(id);
  const past = given.history.flatMap(({ calls = [] }) => calls);
  for (const { args, answer } of [...tool_calls, ...past]) {
    placeholders.result(answer.ok ? answer.result : answer.message);
    placeholders.reserveNumbers(args);
  }
  for (const { answer } of given.confirmed_actions) placeholders.result(answer);
  placeholders.reserveNumbers([given.text, given.history, given.memories]);
  return placeholders;
}

function restoreClaims({ given: { person, principal } }: RecordedRun): Record<string, unknown> {
  const { sub, tenant_id, roles = [] } = principal ?? {};
  return {
    sub: sub ?? '',
    ...person,
    ...(tenant_id ? { tenant_id } : {}),
    ...(roles.length === 0 ? {} : { roles: [...roles] }),
  };
}

function argumentsAndAnswer({ args, answer }: RecordedToolCall) {
  const given = parseArguments(args);
  return {
    ...(isObject(given) ? { args: given } : {}),
    ...(answer.ok ? { result: answer.result ?? null } : { error: answer.message }),
  };
}

function chooseName(say: string, taken: ReadonlySet<string>): string {
  const short = say.replace(/\s+/g, ' ').trim();
  const name = `recorded: ${cutText(short, NAME_MAX)}`;
  if (!taken.has(name)) return name;
  for (let count = 1; ; count++)
    if (!taken.has(`${name} ${'+'.repeat(count)}`)) return `${name} ${'+'.repeat(count)}`;
}

function listNotes({ given }: RecordedRun): string[] {
  return [
    ...(given.summary === null ? [] : ['the summary of the beginning of the conversation']),
    ...(given.history.some(({ before_sign_in }) => before_sign_in) ? ['what was said before sign-in'] : []),
    ...(given.confirmed_actions.length === 0 ? [] : ['the actions that the message confirmed']),
    ...(given.state === null ? [] : ['the state of the runtime']),
    ...(given.shared ? ['that others read along, and who of them said what'] : []),
  ];
}
