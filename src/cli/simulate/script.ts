import { randomInt } from 'node:crypto';
import type { SimulatedEvent } from '../../channel/index.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { wholeNumber } from '../number-option.ts';

/** What can be sent: as `SimulatedEvent`, but for an edit, which follows a message. */
export const KINDS = ['message', 'command', 'other', 'status'] as const;
const BURST_MAX = 1000;
const REPEAT_MAX = 100;
/** Numbers are ids of messages on some platforms, which hold 31 bits. */
const NUMBER_MAX = 2 ** 31 - 2 * BURST_MAX;

/** What is sent at once; the next ones follow when all have been answered. */
export type Volley = readonly SimulatedEvent[];

/**
 * What the options ask to be sent, in order. Numbers begin anywhere: a message of an earlier call must not
 * look like a repeat of this one's.
 *
 * @param text null where none was given.
 * @param platform.someone who writes if nobody is named.
 * @param platform.hasGroups whether the platform has rooms with several people.
 * @throws CliError (2) for options that do not go together.
 */
export function scriptOf(
  text: string | null,
  options: Readonly<Record<string, unknown>>,
  { someone, hasGroups }: { someone: string; hasGroups: boolean },
): Volley[] {
  const kind = kindOf(options);
  if (text === null && (kind === 'message' || kind === 'command'))
    throw new CliError(EXIT.usage, 'no text was given', 'Try `agentd simulate --help`.');
  const repeat = wholeNumber('--repeat', options.repeat, { min: 1, max: REPEAT_MAX });
  const burst = wholeNumber('--burst', options.burst, { min: 1, max: BURST_MAX });
  if (repeat > 1 && burst > 1)
    throw new CliError(EXIT.usage, '--repeat and --burst are two ways to send many: take one of them');
  if (options.edit !== undefined && kind !== 'message')
    throw new CliError(EXIT.usage, '--edit changes a message, not what --kind or --command send');

  if (options.group === true && !hasGroups)
    throw new CliError(EXIT.usage, 'the platform of this channel has no groups', 'Leave out --group.');

  const first = randomInt(1, NUMBER_MAX);
  const event = (index: number, said: string): SimulatedEvent => ({
    kind,
    user: typeof options.user === 'string' ? options.user : someone,
    text: said,
    place: options.group === true ? 'group' : 'direct',
    number: first + index,
    sent_at: Date.now(),
    ...(typeof options.name === 'string' ? { user_name: options.name } : {}),
    ...(typeof options.thread === 'string' ? { thread: options.thread } : {}),
    ...(options.badSignature === true ? { bad_signature: true } : {}),
  });
  const said = text ?? '';
  const volleys: Volley[] =
    burst > 1
      ? [Array.from({ length: burst }, (_, index) => event(index, `${said} (${index + 1})`))]
      : Array.from({ length: repeat }, (_, index) => [event(index, said)]);
  const twice = options.duplicate === true ? volleys.flatMap((volley) => [volley, volley]) : volleys;
  if (typeof options.edit !== 'string') return twice;
  return [...twice, [{ ...event(0, options.edit), kind: 'edit' }]];
}

/** Gets an answer, unless the loop guard blocks it: not what says nothing new, nor what is not signed. */
export function asksForAnswer({ kind, bad_signature }: SimulatedEvent): boolean {
  return (kind === 'message' || kind === 'command') && !bad_signature;
}

function kindOf({ kind, command }: Readonly<Record<string, unknown>>): (typeof KINDS)[number] {
  if (command === true && kind !== undefined && kind !== 'command')
    throw new CliError(EXIT.usage, `--command and --kind ${String(kind)} contradict each other`);
  if (command === true) return 'command';
  const known = KINDS.find((one) => one === (kind ?? 'message'));
  if (known) return known;
  throw new CliError(EXIT.usage, `--kind takes one of ${KINDS.join(', ')}, not '${String(kind)}'`);
}
