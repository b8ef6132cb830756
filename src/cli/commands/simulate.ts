import type { Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { EXAMPLE } from '../../../plugins/names.ts';
import { isStandInAddress } from '../../daemon/admin/channels.ts';
import { maskTokens } from '../../daemon/admin/texts.ts';
import { EXIT, unavailable, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { simulatedChannels } from '../names/channel-words.ts';
import { wholeNumber } from '../names/typed-values.ts';
import type { Output } from '../output.ts';
import { daemonAddress, URL_OPTION } from '../running-daemon.ts';
import {
  EVENT_OPTIONS,
  loadScenario,
  openDaemonRecords,
  planBatches,
  readPress,
  type Scenario,
} from '../simulate/scenario.ts';
import { isAnswered, Simulation, type SimulationEvent } from '../simulate/simulation.ts';
import { answerAsPlatform, type Behavior, listenAsPlatform } from '../simulate/stand-in.ts';
import { eventAsJson, eventInWords, JsonArrayWriter, summaryInWords, type View } from '../simulate/view.ts';
import { TOKEN_SHOWS } from '../terminal.ts';

const LIMIT_OPTIONS = {
  '--slow <seconds>': { sentence: 'delay each answer of the simulated API, 0 to 60', default: 0 },
  '--fail <n>': { sentence: 'refuse the first n replies, in the format of the platform', default: 0 },
  '--fail-status <status>': { sentence: 'status of these refusals, 400 to 599', default: 503 },
  '--retry-after <seconds>': 'Retry-After of these refusals',
  '--wait <seconds>': { sentence: 'how long to wait for answers, 1 to 600', default: 30 },
} as const;

export const command = defineCommand({
  ignoresDev: true,
  description: [
    'Sends a correctly signed webhook to the running daemon and shows the answers, so that you can try every channel without an account. If the *_API_URL of the channel is a loopback address at which no other server is, it also simulates the API of the platform; otherwise it only sends the webhook, and says what it cannot show.',
    '`serve --dev` sets this up in .agentd/env of its working directory; in that directory you do not need to configure anything. To link a sender to a person, use the command of the platform (--command), as the page of the channel describes, or `agentd link`. `Who am I?` is then answered with the data of that person.',
    'The command ends when the daemon has answered each message, or with Ctrl-C. Exit code 1 if a message failed, if no answer arrived, for example because the loop guard blocked all messages, or if the daemon answered incorrectly.',
  ].join('\n\n'),
  args: {
    '<channel>': { sentence: 'name of the channel', values: simulatedChannels, isChannel: true },
    '[text]': 'text of the message; `-` reads it from standard input',
  },
  options: {
    ...EVENT_OPTIONS,
    ...LIMIT_OPTIONS,
    ...URL_OPTION,
    '-v, --verbose': 'also show events of other conversations',
  },
  examples: {
    [`agentd simulate ${EXAMPLE.channel} "Who am I?"`]: 'Asks as a user who is not linked.',
    [`agentd simulate ${EXAMPLE.channel} "Hello" --group --thread lunch`]:
      'Writes to the bot in a thread of a group.',
    [`agentd simulate ${EXAMPLE.channel} "Hi" --burst 8`]: 'Triggers the loop guard.',
    [`agentd simulate ${EXAMPLE.channel} "Cancel order 1004" --press yes`]:
      'Confirms the action that the answer asks for.',
    [`agentd simulate ${EXAMPLE.channel} --command - < command.txt`]: `Sends a command (\`${EXAMPLE.command}\` and a token). It is read from a file, because other users could see a token in the arguments.`,
    [`agentd simulate ${EXAMPLE.channel} "Hello" --fail 2 --retry-after 3`]:
      'Shows how a refused reply is sent again.',
  },
  json: true,
  jsonSentence: 'print events as they occur, as one JSON array with an item per line',
  async run({ args: [channel = '', given], options, out }) {
    const scenario = await loadScenario(channel, options, (line) => out.note(line));
    const [sender = 'somebody'] = scenario.simulator.who();
    const hasGroups = scenario.plugin.capabilities.groups !== false;
    const text = await readText(given, out);
    const batches = planBatches(text, options, { sender, hasGroups });
    if (text?.startsWith('/') && batches[0]?.[0]?.kind === 'message')
      out.note('note: the text is sent as a message; with --command it is sent as a command of the platform');
    const { wait_ms, ...behavior } = readLimits(options);
    const daemon = await daemonAddress(options, scenario.location);
    const press = readPress(options);
    const needsApi = behavior.fail > 0 || behavior.slow_ms > 0 || press !== null;
    const apiUrl = simulatedApiUrl(scenario, needsApi, (line) => out.note(line));
    const records = await openDaemonRecords(scenario.location);
    const array = new JsonArrayWriter((text) => out.write(text));
    const isVerbose = options.verbose ?? false;
    const isOneOfMany = batches.flat().length > 1;
    const { readable } = scenario.simulator;
    const report = reporter(out, array, { isVerbose, isOneOfMany, readable });
    const interrupted = new AbortController();
    const interrupt = () => interrupted.abort();
    process.once('SIGINT', interrupt);
    let server: Server | null = null;
    let simulation: Simulation;
    try {
      server = apiUrl && (await platformServer(apiUrl, scenario, needsApi, (line) => out.note(line)));
      simulation = new Simulation({
        scenario,
        daemon,
        records,
        areItsRecords: options.url === undefined,
        press,
        slow_ms: behavior.slow_ms,
        hasApi: server !== null,
        report,
      });
      if (server && apiUrl) answerAsPlatform(server, apiUrl, scenario, behavior, simulation);
      await simulation.send(batches);
      await simulation.untilSettled(wait_ms, interrupted.signal);
      report({ type: 'end', ...simulation.summary() });
    } finally {
      array.end();
      process.removeListener('SIGINT', interrupt);
      server?.close();
      server?.closeAllConnections();
      await records?.close();
    }
    const { isExpected } = simulation;
    const summary = simulation.summary();
    const until = interrupted.signal.aborted ? 'before Ctrl-C' : `within ${wait_ms / 1000} s`;
    if (!isExpected) out.note('The daemon did not answer as expected.');
    else if (options.badSignature) out.note('The daemon refused the message, as expected.');
    else if (!out.json) out.note(summaryInWords(summary, until));
    return isExpected && isAnswered(summary) ? EXIT.ok : EXIT.no;
  },
});

/** @returns how the simulated platform behaves, and how long to wait for answers */
function readLimits(options: OptionValues<typeof LIMIT_OPTIONS>): Behavior & { wait_ms: number } {
  const number = (option: string, value: string | number, min: number, max: number) =>
    wholeNumber(option, value, { min, max });
  return {
    slow_ms: number('--slow', options.slow, 0, 60) * 1000,
    wait_ms: number('--wait', options.wait, 1, 600) * 1000,
    fail: number('--fail', options.fail, 0, 1000),
    failStatus: number('--fail-status', options.failStatus, 400, 599),
    retry_after_seconds:
      options.retryAfter === undefined ? null : number('--retry-after', options.retryAfter, 0, 3600),
  };
}

async function readText(given: string | undefined, out: Output): Promise<string | null> {
  if (given === '-') return (await text(process.stdin)).trim();
  if (given !== undefined && maskTokens(given) !== given) out.note(TOKEN_SHOWS);
  return given ?? null;
}

/**
 * The address at which the platform's API is simulated. Null if the settings of the channel give no loopback address
 * for the API.
 */
function simulatedApiUrl(
  { simulator, settings, plugin }: Scenario,
  needsApi: boolean,
  note: (line: string) => void,
): URL | null {
  const setting = simulator.apiUrlSetting;
  const url = URL.parse(String(settings[setting] ?? ''));
  if (url && isStandInAddress(url)) return url;
  if (needsApi)
    throw usageError(
      `--slow, --fail and --press need ${setting} to be a loopback address`,
      'With the current setting, the daemon calls the platform itself.',
    );
  note(
    `${setting} ${url ? `is ${url.origin}` : 'is not set'}: replies of the channel ${plugin.name} are sent to the platform itself, and are not shown here.`,
  );
  return null;
}

/** Null if another server, such as a test double of the platform, is at the address and gets the replies. */
async function platformServer(
  url: URL,
  { simulator, plugin }: Scenario,
  needsApi: boolean,
  note: (line: string) => void,
): Promise<Server | null> {
  const setting = simulator.apiUrlSetting;
  const server = await listenAsPlatform(url, setting);
  if (server) return server;
  if (needsApi)
    throw unavailable(
      `cannot serve the platform's API at ${url.origin} (${setting}): the address is in use`,
      'If another `agentd simulate` is running, wait until it ends, or stop it.',
    );
  note(
    `another server is at ${url.origin} (${setting}): it gets the replies of the channel ${plugin.name}, and they are not shown here.`,
  );
  return null;
}

function reporter(
  out: Output,
  array: JsonArrayWriter,
  { isVerbose, ...view }: { isVerbose: boolean } & Omit<View, 'width'>,
): (event: SimulationEvent) => void {
  let others = 0;
  let lastSign = '';
  return (event) => {
    if (out.json) {
      array.add(eventAsJson(event));
      return;
    }
    if (event.type === 'shown' && event.other && !isVerbose) {
      if (others++ === 0) out.note('An answer to an earlier conversation arrived, too; -v shows it.');
      return;
    }
    const words = eventInWords(event, { ...view, width: out.width });
    // A typing indicator is sent repeatedly, but shown only once.
    if (event.type === 'shown' && event.text === '' && words === lastSign) return;
    lastSign = words;
    out.write(words);
  };
}
