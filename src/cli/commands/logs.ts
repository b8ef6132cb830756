import { jsonObjectOrNull } from '../../channel/json-object.ts';
import { formatLogLine } from '../../daemon/admin/records.ts';
import { escapeControls, maskTokens } from '../../daemon/admin/texts.ts';
import { failed, misconfigured, usageError } from '../cli-error.ts';
import { defineCommand, type OptionValues } from '../command.ts';
import { coreSettings } from '../config-location.ts';
import {
  follow,
  isBefore,
  LOG_LEVELS,
  type LogFilter,
  type LogLevel,
  matches,
  readSince,
  rotatedFiles,
  tail,
} from '../log-file.ts';
import { channelNames } from '../names/channel-words.ts';
import { entryInWords } from '../names/code-words.ts';
import { sinceIn, sinceOption } from '../names/list-options.ts';
import { wholeNumber } from '../names/typed-values.ts';
import { expectChannel } from '../names/who.ts';
import { spellings } from '../names/whole-id.ts';

/** Maximum number of lines that are printed if neither -n nor --since is given. */
const LINES = 50;

export const command = defineCommand({
  description:
    'Reads LOG_FILE: the last lines that match all filters, oldest first. With --since and without -n, these are all lines since then, including lines in files to which logrotate has moved the log, such as `agentd.log.1`. If earlier lines match too, a line on standard error says so. Words after `#` explain the codes of a line; the file does not contain them. With -f, it continues with new lines, across rotation, until it is interrupted.',
  options: {
    '-f, --follow': 'continue with new lines',
    '-n, --lines <n>': `maximum number of lines, 0 to 100000; default: ${LINES}, or no limit with --since`,
    '--level <level>': {
      sentence: `only this level and more severe levels: ${LOG_LEVELS.join(', ')}`,
      values: LOG_LEVELS,
    },
    ...sinceOption('only newer lines'),
    '--session <id>': 'only lines of the session whose id is this or begins with it',
    '--request <id>': 'only lines of the request whose id is this or begins with it',
    '--channel <name>': { sentence: 'only lines of this channel', values: channelNames, isChannel: true },
  },
  examples: {
    'agentd logs -f --level warn': 'Follows warnings and errors.',
    'agentd logs --since 10m --json | jq .msg': 'Passes the last ten minutes to another program.',
  },
  json: true,
  jsonSentence:
    'print one JSON object per line, as in the file; a line of the file that is not a JSON object becomes the `msg` of an object',
  async run({ options, out }) {
    const count = wholeNumber('--lines', options.lines ?? LINES, { min: 0, max: 100_000 });
    const filter = await readFilter(options);
    const path = await logFile(options);
    const print = (line: string) =>
      out.write(
        maskTokens(
          out.json
            ? `${escapeControls(asJsonObject(line))}\n`
            : formatLogLine(line, { color: out.color, date: true, width: out.width, beside: entryInWords }),
        ),
      );
    const unfinished = !options.follow;
    const isOld = (line: string) => isBefore(line, filter.since);
    let printed = 0;
    const printMatching = (line: string) => {
      if (!matches(line, filter)) return;
      print(line);
      printed++;
    };
    const printTail = async () => {
      const wanted = { count, unfinished, matches: (line: string) => matches(line, filter), enough: isOld };
      const { lines, more, end } = await tail(path, wanted);
      lines.forEach(printMatching);
      if (more)
        out.note(
          `Only the newest ${count === 1 ? 'line is' : `${count} lines are`} shown; --lines shows more.`,
        );
      return end;
    };
    const printSince = async (since: number) => {
      for (const { path: older, isCompressed } of await rotatedFiles(path, since)) {
        if (isCompressed)
          out.note(`${older} may have more lines, and is compressed: use \`zcat\` or the like.`);
        else await readSince(older, { unfinished: true, isOld }, printMatching);
      }
      return readSince(path, { unfinished, isOld }, printMatching);
    };
    const { since } = filter;
    const isWhole = since !== undefined && options.lines === undefined;
    const end = await (isWhole ? printSince(since) : printTail()).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOENT') throw cause;
      if (options.follow) return 0;
      const message = `there is no log file yet (${path})`;
      throw failed(message, 'The daemon creates it when it starts.', { cause });
    });
    if (printed === 0) await expectChannel(options, 'channel', out);
    if (options.follow) {
      // Ctrl-C ends the process.
      for await (const line of follow(path, end, new AbortController().signal))
        if (matches(line, filter)) print(line);
    }
    if (printed === 0 && count > 0) out.note('No line found.');
  },
});

function asJsonObject(line: string): string {
  return jsonObjectOrNull(line) === null ? JSON.stringify({ msg: line }) : line;
}

async function logFile(options: OptionValues): Promise<string> {
  const { LOG_FILE } = await coreSettings(options, 'log');
  if (LOG_FILE !== undefined) return LOG_FILE;
  throw misconfigured(
    'LOG_FILE is not set, so the daemon logs to standard error only',
    'Set LOG_FILE, or read the log of the service manager (`journalctl -u agentd`).',
  );
}

async function readFilter(
  options: OptionValues & Partial<Record<'level' | 'since' | 'session' | 'request' | 'channel', string>>,
): Promise<LogFilter> {
  const { level, session, request, channel } = options;
  return {
    ...(level === undefined ? {} : { level: parseLevel(level) }),
    ...sinceIn(options),
    ...(session === undefined ? {} : { session: await spellings(session, options) }),
    ...(request === undefined ? {} : { request }),
    ...(channel === undefined ? {} : { channel }),
  };
}

/** Reads a level, in upper or lower case, or under another name that LOG_LEVEL accepts. */
function parseLevel(text: string): LogLevel {
  const lower = text.toLowerCase();
  const name = { warning: 'warn', critical: 'fatal' }[lower] ?? lower;
  const level = LOG_LEVELS.find((known) => known === name);
  if (level) return level;
  throw usageError(`--level takes one of ${LOG_LEVELS.join(', ')}, not '${text}'`);
}
