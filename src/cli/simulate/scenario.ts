import { randomInt } from 'node:crypto';
import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  SimulatedEvent,
} from '../../channel/index.ts';
import { isSetUp, loadSimulator } from '../../daemon/admin/channels.ts';
import {
  type ConfigLocation,
  ConfigurationError,
  type Inspection,
  inspectConfiguration,
  readSettings,
} from '../../daemon/admin/settings.ts';
import { openStore, StoreMissing, StoreOfAnotherLayout, StoreUnavailable } from '../../daemon/admin/store.ts';
import { channelSettings } from '../channel-settings.ts';
import { type CliError, usageError } from '../cli-error.ts';
import type { OptionValues } from '../command.ts';
import { configLocation, readDevSettings, USING_DEV_SETTINGS } from '../config-location.ts';
import { oneOf, wholeNumber } from '../names/typed-values.ts';

/** A channel, the simulator of its platform, and the settings of both. */
export interface Scenario {
  plugin: ChannelPlugin;
  simulator: PlatformSimulator;
  settings: ChannelSettings;
  /** Where the settings come from. */
  location: ConfigLocation;
}

/**
 * Finds a channel and its settings where the daemon finds them. If the channel is not set up there, the settings of
 * `serve --dev` are used, unless `--env-file` was given or NODE_ENV is production.
 *
 * @param note prints a line for the person
 * @throws CliError (2) if the channel does not exist or has no simulator; ConfigurationError if its settings are
 * missing or wrong
 */
export async function loadScenario(
  channel: string,
  options: OptionValues,
  note: (text: string) => void,
): Promise<Scenario> {
  let location = configLocation(options);
  let found = await inspectConfiguration(location);
  const isUsable = async ({ plugins, effective }: Inspection) => {
    const plugin = plugins.find(({ name }) => name === channel);
    return plugin !== undefined && (await isSetUp(plugin, effective));
  };
  const mayUseDev = location.defaults === undefined && location.envFile === undefined;
  if (mayUseDev && !(await isUsable(found)) && found.environment !== 'production') {
    const defaults = await readDevSettings(location.cwd);
    if (defaults !== null) {
      note(USING_DEV_SETTINGS);
      location = { ...location, defaults };
      found = await inspectConfiguration(location);
    }
  }
  const plugin = found.plugins.find(({ name }) => name === channel);
  const simulator = plugin && (await loadSimulator(plugin));
  if (!plugin || !simulator) throw unknownChannel(channel, found);
  const why = `is not set, so nothing can be sent as the platform of ${channel}; \`serve --dev\` generates it`;
  const settings = await channelSettings(plugin, found, ({ required }) => required, why);
  return { plugin, simulator, settings, location };
}

/** The error for an unknown channel. If the channel exists but cannot be loaded, throws that problem. */
function unknownChannel(channel: string, { plugins, problems }: Inspection): CliError {
  const simulated = plugins.filter(({ simulator }) => simulator).map(({ name }) => name);
  const broken = problems.find(({ setting }) => setting === `channel ${channel}`);
  if (broken) throw new ConfigurationError([broken]);
  return usageError(
    plugins.some(({ name }) => name === channel)
      ? `the channel ${channel} has no simulator for its platform`
      : `there is no channel '${channel}'`,
    simulated.length > 0 ? `Use one of: ${simulated.join(', ')}.` : 'No installed channel has a simulator.',
  );
}

/** The kinds of `SimulatedEvent`, without `edit` and `press`, which follow a message. */
const KINDS = ['message', 'command', 'other', 'status'] as const;
const BURST_MAX = 1000;
const REPEAT_MAX = 100;
/** On some platforms, the numbers become message ids, which have 31 bits. */
const NUMBER_MAX = 2 ** 31 - 2 * BURST_MAX;

/** Events that are sent at once. The next batch follows when the daemon has answered all of them. */
export type Batch = readonly SimulatedEvent[];

/** The buttons of a question. */
const PRESSES = ['yes', 'no'] as const;

/** The options that say which events are sent. */
export const EVENT_OPTIONS = {
  '--user <id>': "sender, as the platform's id",
  '--name <name>': 'name of the sender on the platform',
  '--group': 'send to a group in which the bot is mentioned',
  '--thread <name>': 'send to a thread or topic; the same name is the same thread',
  '--command': 'the text is a command of the platform, with its slash',
  '--kind <kind>': {
    sentence:
      'message, command, other (an image or the like, without text), status (delivery status of a reply)',
    values: KINDS,
  },
  '--edit <text>': 'edit the message to this text immediately after it is sent',
  '--press <button>': {
    sentence: 'press this button if the answer asks for confirmation of an action',
    values: PRESSES,
  },
  '--repeat <n>': { sentence: 'send the text n times, as new messages', default: 1 },
  '--burst <n>': { sentence: 'send n different messages at once', default: 1 },
  '--duplicate': 'deliver each message twice',
  '--bad-signature': 'sign with a wrong secret; the daemon must answer 401',
} as const;

type EventOptions = OptionValues<typeof EVENT_OPTIONS>;

/**
 * The events that the options ask for, in order. Their numbers start at a random number, so that no message looks like
 * a repeat of a message from an earlier call.
 *
 * @param text null if none was given
 * @param platform.sender the sender if `--user` names none
 * @param platform.hasGroups the platform has rooms with several people
 * @throws CliError (2) for options that contradict each other
 */
export function planBatches(
  text: string | null,
  options: EventOptions,
  { sender, hasGroups }: { sender: string; hasGroups: boolean },
): Batch[] {
  const kind = readKind(options);
  if (text === null && (kind === 'message' || kind === 'command'))
    throw usageError('no text was given', 'Try `agentd simulate --help`.');
  const repeat = wholeNumber('--repeat', options.repeat, { min: 1, max: REPEAT_MAX });
  const burst = wholeNumber('--burst', options.burst, { min: 1, max: BURST_MAX });
  if (repeat > 1 && burst > 1)
    throw usageError('--repeat and --burst are two ways to send many messages: use one of them');
  if (options.edit !== undefined && kind !== 'message')
    throw usageError('--edit changes a message; it cannot be used with --kind or --command');

  if (options.group && !hasGroups)
    throw usageError('the platform of this channel has no groups', 'Remove --group.');

  const first = randomInt(1, NUMBER_MAX);
  const event = (index: number, content: string): SimulatedEvent => ({
    kind,
    user: options.user ?? sender,
    text: content,
    place: options.group ? 'group' : 'direct',
    number: first + index,
    sent_at: Date.now(),
    ...(options.name === undefined ? {} : { user_name: options.name }),
    ...(options.thread === undefined ? {} : { thread: options.thread }),
    ...(options.badSignature ? { bad_signature: true } : {}),
  });
  const content = text ?? '';
  const batches: Batch[] =
    burst > 1
      ? [Array.from({ length: burst }, (_, index) => event(index, `${content} (${index + 1})`))]
      : Array.from({ length: repeat }, (_, index) => [event(index, content)]);
  const twice = options.duplicate ? batches.flatMap((batch) => [batch, batch]) : batches;
  if (options.edit === undefined) return twice;
  return [...twice, [{ ...event(0, options.edit), kind: 'edit' }]];
}

/** Whether an event gets an answer if the loop guard does not block it. */
export function asksForAnswer({ kind, bad_signature }: SimulatedEvent): boolean {
  return (kind === 'message' || kind === 'command' || kind === 'press') && !bad_signature;
}

function readKind({ kind, command }: EventOptions): (typeof KINDS)[number] {
  if (command && kind !== undefined && kind !== 'command')
    throw usageError(`--command and --kind ${kind} contradict each other`);
  if (command) return 'command';
  return oneOf('--kind', kind ?? 'message', KINDS);
}

/** The button that is pressed; null if none is. */
export function readPress({ press }: EventOptions): (typeof PRESSES)[number] | null {
  return press === undefined ? null : oneOf('--press', press, PRESSES);
}

/** How a message ended, according to the daemon's store. */
export type MessageEnd =
  | { end: 'answered' }
  /** Reason of the loop guard: `rate_limit`, `repetition`, `turn_limit`. */
  | { end: 'blocked'; reason: string }
  | { end: 'failed'; reason: string }
  /** Not ended yet. The reason is why the last attempt failed. */
  | { end: 'open'; reason: string | null };

/** The daemon's own records of messages. */
export interface DaemonRecords {
  /** Null if the daemon has no record of this request. */
  findEnd(request_id: string): Promise<MessageEnd | null>;
  /**
   * Whether a text of the channel itself, such as the answer to a command, was stored since this time and is not sent
   * yet.
   */
  hasOpenText(platform: string, since: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How many unsent texts are examined, newest first. */
const OPEN_MAX = 100;

/**
 * Opens the store that the settings name. Null if it cannot be read: then only the texts that arrive show how messages
 * end.
 */
export async function openDaemonRecords(location: ConfigLocation): Promise<DaemonRecords | null> {
  try {
    const settings = await readSettings(location, 'store');
    const store = await openStore(settings);
    const { inbox, traces } = store;
    return {
      async findEnd(request_id) {
        const found = await traces.find(request_id);
        const blocked = found.find(({ outcome }) => outcome === 'loop_guard_blocked');
        if (blocked) {
          const { reason = 'loop_guard_blocked' } = blocked.lines.find(({ step }) => step === 'guard') ?? {};
          return { end: 'blocked', reason };
        }
        const turn_id = found.at(-1)?.turn_id;
        const message =
          turn_id === undefined
            ? (await inbox.search(request_id)).find((one) => one.request_id === request_id)
            : await inbox.find(turn_id);
        if (!message) return null;
        if (message.state === 'done') return { end: 'answered' };
        if (message.state === 'failed') return { end: 'failed', reason: message.failure ?? 'failed' };
        return { end: 'open', reason: message.failure };
      },
      async hasOpenText(platform, since) {
        const open = await inbox.list({ states: ['replied'], limit: OPEN_MAX });
        return open.some(
          (text) => text.session_id === null && text.platform === platform && text.received_at >= since,
        );
      },
      close: () => store.close(),
    };
  } catch (error) {
    // The daemon may run on another machine. Problems of its store are reported by the daemon itself.
    if (isUnreadable(error)) return null;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  return [ConfigurationError, StoreMissing, StoreOfAnotherLayout, StoreUnavailable].some(
    (kind) => error instanceof kind,
  );
}
