import { systemClock } from '../../daemon/clock.ts';
import { formatLogLine } from '../../daemon/log-line.ts';
import { maskTokens } from '../../daemon/secret.ts';
import type { Command } from '../command.ts';
import { channelNames } from '../completion/channel-words.ts';
import { coreSettings } from '../core-settings.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { expectChannel } from '../expect-channel.ts';
import { follow, tail } from '../log-file.ts';
import { isBefore, LOG_LEVELS, type LogFilter, type LogLevel, parseEntry, passes } from '../log-filter.ts';
import { wholeNumber } from '../number-option.ts';
import { parseSince } from '../time-words.ts';

export const command: Command = {
  name: 'logs',
  summary: 'Read the log file, filtered, and follow it.',
  description:
    'Reads LOG_FILE: the last lines that pass all filters, oldest first; with -f also those that come, across rotation, until it is interrupted. Exit code 1 when no line passes.',
  options: [
    { flags: '-f, --follow', sentence: 'go on with the lines that come' },
    { flags: '-n, --lines <n>', sentence: 'how many lines at most, 0 to 100000', default: 50 },
    {
      flags: '--level <level>',
      sentence: `only this level and more severe ones: ${LOG_LEVELS.join(', ')}`,
      values: LOG_LEVELS,
    },
    { flags: '--since <time>', sentence: 'only newer ones: 30s, 10m, 2h, 7d, or an ISO 8601 time' },
    { flags: '--session <id>', sentence: 'only those of this session' },
    { flags: '--request <id>', sentence: 'only those of this request' },
    { flags: '--channel <name>', sentence: 'only those of this channel', values: channelNames },
  ],
  examples: [
    { line: 'agentd logs -f --level warn', does: 'Follows what is amiss.' },
    {
      line: 'agentd logs --since 10m --json | jq .msg',
      does: 'Hands the last ten minutes to another program.',
    },
  ],
  json: true,
  jsonSentence:
    'print one JSON object per line, as in the file; a line that is none becomes the `msg` of one',
  async run({ options, out }) {
    const count = wholeNumber('--lines', options.lines, { min: 0, max: 100_000 });
    const filter = filterOf(options, systemClock.now());
    const path = await logFile(options);
    const print = (line: string) =>
      out.write(
        maskTokens(out.json ? rawLine(line) : formatLogLine(line, { colour: out.colour, date: true })),
      );
    const { lines, end } = await tail(path, {
      count,
      unfinished: options.follow !== true,
      matches: (line) => passes(line, filter),
      enough: (line) => isBefore(line, filter.since),
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && options.follow) return { lines: [], end: 0 };
      throw error.code === 'ENOENT' ? noFile(path, error) : error;
    });
    if (lines.length === 0) await expectChannel(options, 'channel');
    for (const line of lines) print(line);
    if (options.follow) {
      // Ends with the process, by Ctrl-C.
      for await (const line of follow(path, end, new AbortController().signal))
        if (passes(line, filter)) print(line);
    }
    if (lines.length > 0 || count === 0) return EXIT.ok;
    out.note('No line found.');
    return EXIT.no;
  },
};

function rawLine(line: string): string {
  return `${parseEntry(line) === null ? JSON.stringify({ msg: line }) : line}\n`;
}

async function logFile(options: Readonly<Record<string, unknown>>): Promise<string> {
  const { LOG_FILE } = await coreSettings(options, 'log');
  if (LOG_FILE !== undefined) return LOG_FILE;
  throw new CliError(
    EXIT.config,
    'LOG_FILE is not set, so the log goes to standard error of the daemon only',
    'Set LOG_FILE, or read it where the service manager keeps it (`journalctl -u agentd`).',
  );
}

function noFile(path: string, cause: Error): CliError {
  return new CliError(
    EXIT.no,
    `there is no log file yet (${path})`,
    'It is created when the daemon starts.',
    { cause },
  );
}

function filterOf(options: Readonly<Record<string, unknown>>, now: number): LogFilter {
  const filter: LogFilter = {};
  if (typeof options.level === 'string') filter.level = levelOf(options.level);
  if (typeof options.since === 'string') {
    const since = parseSince(options.since, now);
    if (since === null) {
      throw new CliError(
        EXIT.usage,
        `--since takes 30s, 10m, 2h, 7d or an ISO 8601 time, not '${options.since}'`,
      );
    }
    filter.since = since;
  }
  if (typeof options.session === 'string') filter.session = options.session;
  if (typeof options.request === 'string') filter.request = options.request;
  if (typeof options.channel === 'string') filter.channel = options.channel;
  return filter;
}

/** Upper or lower case, and the other names that LOG_LEVEL understands. */
function levelOf(text: string): LogLevel {
  const lower = text.toLowerCase();
  const name = { warning: 'warn', critical: 'fatal' }[lower] ?? lower;
  const level = LOG_LEVELS.find((known) => known === name);
  if (level) return level;
  throw new CliError(EXIT.usage, `--level takes one of ${LOG_LEVELS.join(', ')}, not '${text}'`);
}
