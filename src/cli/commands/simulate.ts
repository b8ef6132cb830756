import { text } from 'node:stream/consumers';
import { EXAMPLE } from '../../../plugins/names.ts';
import { isStandInAddress } from '../../daemon/plugin/stand-in-address.ts';
import { maskTokens } from '../../daemon/secret.ts';
import type { Command } from '../command.ts';
import { simulatedChannels } from '../completion/channel-words.ts';
import { daemonAddress, URL_OPTION } from '../daemon-address.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { wholeNumber } from '../number-option.ts';
import type { Output } from '../output.ts';
import { TOKEN_SHOWS } from '../read-token.ts';
import { Conversation } from '../simulate/conversation.ts';
import { GrowingList } from '../simulate/growing-list.ts';
import type { Happening } from '../simulate/happening.ts';
import { openRecords } from '../simulate/records.ts';
import { type Scene, setScene } from '../simulate/scene.ts';
import { KINDS, scriptOf } from '../simulate/script.ts';
import { type Behaviour, openStandIn } from '../simulate/stand-in.ts';
import { happeningAsJson, happeningInWords, summaryInWords } from '../simulate/view.ts';

export const command: Command = {
  name: 'simulate',
  summary: 'Write to the daemon as the platform of a channel would.',
  ignoresDev: true,
  description:
    'Sends a correctly signed webhook to the running daemon and shows what comes back: every channel of a platform can be tried with no account. It stands in for the API of the platform where the *_API_URL of the channel names a loopback address; elsewhere it sends, and says what it cannot show. `serve --dev` sets this up and keeps it in .agentd/env of its working directory; there, nothing needs to be set. A sender is linked to a person by the command of the platform (--command), as the page of the channel tells, or with `agentd link`: then `Who am I?` is answered with their data. It ends when each message has its answer and nothing follows, or with Ctrl-C. Exit code 1 when no answer came, or when the daemon answered otherwise than it must.',
  args: [
    { name: 'channel', sentence: 'name of the channel', required: true, values: simulatedChannels },
    { name: 'text', sentence: 'what is written; `-` reads it from standard input' },
  ],
  options: [
    { flags: '--user <id>', sentence: 'who writes, as the platform names people' },
    { flags: '--name <name>', sentence: 'what the platform calls them' },
    { flags: '--group', sentence: 'in a room with others, where the bot is addressed' },
    { flags: '--thread <name>', sentence: 'in a thread or topic; equal names are one thread' },
    { flags: '--command', sentence: 'the text is a command of the platform, with its slash' },
    {
      flags: '--kind <kind>',
      sentence: 'message, command, other (no text: an image or the like), status (what became of a reply)',
      values: KINDS,
    },
    { flags: '--edit <text>', sentence: 'change the message to this at once' },
    { flags: '--repeat <n>', sentence: 'send the text so many times, as new messages', default: 1 },
    { flags: '--burst <n>', sentence: 'send so many different messages at once', default: 1 },
    { flags: '--duplicate', sentence: 'deliver each message twice' },
    { flags: '--bad-signature', sentence: 'sign with a wrong secret; the daemon must answer 401' },
    { flags: '--slow <seconds>', sentence: 'answer each call of the API after so long, 0 to 60', default: 0 },
    {
      flags: '--fail <n>',
      sentence: 'refuse the first so many replies, in the words of the platform',
      default: 0,
    },
    { flags: '--fail-status <status>', sentence: 'with this status, 400 to 599', default: 503 },
    { flags: '--retry-after <seconds>', sentence: 'and this Retry-After' },
    { flags: '--wait <seconds>', sentence: 'how long to wait for answers, 1 to 600', default: 30 },
    URL_OPTION,
    { flags: '-v, --verbose', sentence: 'also show what is not for this conversation' },
  ],
  examples: [
    { line: `agentd simulate ${EXAMPLE.channel} "Who am I?"`, does: 'Asks as somebody who is not linked.' },
    {
      line: `agentd simulate ${EXAMPLE.channel} "Hello" --group --thread lunch`,
      does: 'Speaks to the bot in a thread of a group.',
    },
    { line: `agentd simulate ${EXAMPLE.channel} "Hi" --burst 8`, does: 'Runs into the loop guard.' },
    {
      line: `agentd simulate ${EXAMPLE.channel} --command - < command.txt`,
      does: `Sends the command in a file, \`${EXAMPLE.command}\` and a token: in an argument, the token would show.`,
    },
    {
      line: `agentd simulate ${EXAMPLE.channel} "Hello" --fail 2 --retry-after 3`,
      does: 'Shows how a reply is sent again.',
    },
  ],
  json: true,
  jsonSentence: 'print what happens as it comes, as one JSON array with an item a line',
  async run({ args: [channel = '', given], options, out }) {
    const scene = await setScene(channel, options, (line) => out.note(line));
    const [someone = 'somebody'] = scene.simulator.who();
    const hasGroups = scene.plugin.capabilities.groups !== false;
    const volleys = scriptOf(await textOf(given, out), options, { someone, hasGroups });
    const limits = limitsOf(options);
    const daemon = await daemonAddress(options, scene.place);
    const standInUrl = standInUrlOf(scene, limits, (line) => out.note(line));
    const records = await openRecords(scene.place);
    const list = new GrowingList((text) => out.write(text));
    const print = printer(out, list, {
      verbose: options.verbose === true,
      several: volleys.flat().length > 1,
    });
    const conversation = new Conversation({
      scene,
      daemon,
      records,
      slow_ms: limits.slow_ms,
      isStoodIn: standInUrl !== null,
      tell: print,
    });
    const interrupted = new AbortController();
    const interrupt = () => interrupted.abort();
    process.once('SIGINT', interrupt);
    let standIn: { close(): void } | null = null;
    try {
      standIn = standInUrl && (await openStandIn(standInUrl, scene, limits, conversation));
      await conversation.send(volleys);
      await conversation.untilQuiet(limits.wait_ms, interrupted.signal);
      print({ type: 'end', ...conversation.summary() });
    } finally {
      list.end();
      process.removeListener('SIGINT', interrupt);
      standIn?.close();
      await records?.close();
    }
    const summary = conversation.summary();
    const until = interrupted.signal.aborted ? 'until now' : `within ${limits.wait_ms / 1000} seconds`;
    if (!conversation.wasTakenRightly) out.note('The daemon answered otherwise than it must.');
    else if (options.badSignature === true) out.note('The daemon refused it, as it must.');
    else if (!out.json) out.note(summaryInWords(summary, until));
    const isRight = conversation.wasTakenRightly && summary.unanswered === 0 && summary.failed === 0;
    return isRight ? EXIT.ok : EXIT.no;
  },
};

interface Limits extends Behaviour {
  /** How long to wait for answers, ms. */
  wait_ms: number;
}

function limitsOf(options: Readonly<Record<string, unknown>>): Limits {
  const number = (option: string, value: unknown, min: number, max: number) =>
    wholeNumber(option, value, { min, max });
  return {
    slow_ms: number('--slow', options.slow, 0, 60) * 1000,
    wait_ms: number('--wait', options.wait, 1, 600) * 1000,
    fail: number('--fail', options.fail, 0, 1000),
    failStatus: number('--fail-status', options.failStatus, 400, 599),
    retryAfterSeconds:
      options.retryAfter === undefined ? null : number('--retry-after', options.retryAfter, 0, 3600),
  };
}

async function textOf(given: string | undefined, out: Output): Promise<string | null> {
  if (given === '-') return (await text(process.stdin)).trim();
  if (given !== undefined && maskTokens(given) !== given) out.note(TOKEN_SHOWS);
  return given ?? null;
}

/** Null where the channel's settings do not name a place of this machine for the API. */
function standInUrlOf(
  { simulator, settings, plugin }: Scene,
  { fail, slow_ms }: Limits,
  note: (line: string) => void,
): URL | null {
  const setting = simulator.apiUrlSetting;
  const url = URL.parse(String(settings[setting] ?? ''));
  if (url && isStandInAddress(url)) return url;
  if (fail > 0 || slow_ms > 0)
    throw new CliError(
      EXIT.usage,
      `--slow and --fail need ${setting} to name a loopback address`,
      'As it is, the daemon talks to the platform itself.',
    );
  note(
    `${setting} ${url ? `is ${url.origin}` : 'is not set'}: what the channel ${plugin.name} replies goes to the platform itself, and is not shown here.`,
  );
  return null;
}

function printer(
  out: Output,
  list: GrowingList,
  { verbose, several }: { verbose: boolean; several: boolean },
): (happening: Happening) => void {
  let others = 0;
  let lastSign = '';
  return (happening) => {
    if (out.json) {
      list.add(happeningAsJson(happening));
      return;
    }
    if (happening.type === 'shown' && happening.other && !verbose) {
      if (others++ === 0) out.note('An answer to an earlier conversation came too; -v shows such.');
      return;
    }
    const words = happeningInWords(happening, several);
    // A sign of typing is given again and again.
    if (happening.type === 'shown' && happening.text === '' && words === lastSign) return;
    lastSign = words;
    out.write(words);
  };
}
