import { fstatSync } from 'node:fs';
import pino from 'pino';
import { ConfigurationError } from '../settings/problem.ts';
import { maskTokens } from '../settings/secret.ts';
import { sourceLocation } from '../syntax/source-location.ts';
import { escapeControls } from '../texts/printable.ts';
import { formatLogLine } from './log-line.ts';
import { LogFile, LogOutput, standardError, type WriteSome } from './log-output.ts';

export type Log = pino.Logger;

interface LogOptions {
  level: string;
  /** The log is also written to this file, one JSON object per line. */
  file?: string | undefined;
  /** What stderr gets: `TEXT` is for people. `AUTO` is text on a terminal, and JSON otherwise. */
  format: 'AUTO' | 'JSON' | 'TEXT';
  /** Writes to standard error, unless the log of a test goes elsewhere. */
  writeError?: WriteSome;
  /** Whether each line on stderr begins with the prefix that gives it a priority in the journal of systemd. */
  prefixed?: boolean;
}

/** The log of the daemon as a process. */
export type ProcessLog = Log & {
  /** Opens LOG_FILE again, after an operator has rotated it. False if there is none, or it cannot be opened. */
  reopen(): boolean;
  /** Call this when the process is about to end: each further line then blocks until it is written, within bounds. */
  beginLastLines(): void;
};

/**
 * The log: JSON lines on standard error (or text for people) and, if set, in a file. Writes are
 * synchronous, so that only lines that wait for a slow reader can be lost at `kill -9`. As the last step, anything
 * shaped like a JWT is masked, since no list of fields can name every place where a token may appear.
 */
export function createLog(options: LogOptions): ProcessLog {
  const isTerminal = process.stderr.isTTY === true;
  const isText = options.format === 'TEXT' || (options.format === 'AUTO' && isTerminal);
  const color = isTerminal && !process.env.NO_COLOR;
  const form = (line: string) => {
    const priority = options.prefixed ? priorityPrefix(line) : '';
    return `${priority}${isText ? formatLogLine(line, { color }) : line}`;
  };
  const output = new LogOutput(options.writeError ?? standardError(), (dropped) =>
    form(droppedLine(dropped)),
  );
  const tell = (line: string) => output.write(form(line));
  const file = options.file ? new LogFile(options.file, tell) : undefined;
  const write = (line: string) => {
    // The file comes first: a slow reader of standard error holds up the last lines of a process.
    file?.write(line);
    tell(line);
  };
  const log = pino(
    {
      level: options.level.toLowerCase(),
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
      hooks: { streamWrite: (line) => escapeControls(maskTokens(line)) },
    },
    { write },
  );
  followLevel(log);
  return Object.assign(log, {
    reopen: () => file?.reopen() ?? false,
    beginLastLines: () => output.beginLastLines(),
  });
}

/**
 * Makes a change of the level reach the children of the log, each of which has a level of its own: a child that is made
 * for a request is short-lived and keeps its level; the others, such as those of channels, get the new one.
 */
function followLevel(log: Log): void {
  const children = new Set<WeakRef<Log>>();
  type MakeChild = (bindings: pino.Bindings, options?: pino.ChildLoggerOptions) => Log;
  const makeChild = log.child as unknown as MakeChild;
  // Children inherit this function.
  const child = function (this: Log, ...[bindings, options]: Parameters<MakeChild>): Log {
    const made = makeChild.call(this, bindings, options);
    if (!('request_id' in bindings)) children.add(new WeakRef(made));
    return made;
  };
  log.child = child as unknown as Log['child'];
  log.on('level-change', (level, _value, _before, _beforeValue, of) => {
    if (of !== log) return;
    for (const child of children) {
      const made = child.deref();
      if (made) made.level = level;
      else children.delete(child);
    }
  });
}

function droppedLine(dropped: number): string {
  const msg = 'log lines were dropped: standard error was not read, or could not be written';
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), dropped, msg })}\n`;
}

/**
 * The file and line in a plugin or runtime where an error was thrown. Used for the causes of a logged error, because
 * their stacks are not logged.
 */
function findLocation(error: Error): { at?: string } {
  const at = sourceLocation(error);
  return at === null ? {} : { at };
}

/**
 * Errors of libraries may contain whole requests, so only these fields of an error and its causes are logged. A mistake
 * in the configuration is no defect of the program, so it has no stack.
 */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(depth > 0 ? findLocation(error) : error instanceof ConfigurationError ? {} : { stack: error.stack }),
    ...(error.cause !== undefined && depth < 3 ? { cause: serializeError(error.cause, depth + 1) } : {}),
  };
}

/** Priorities of syslog(3) for the levels of the log. */
const PRIORITIES: Readonly<Record<string, number>> = {
  fatal: 2,
  error: 3,
  warn: 4,
  info: 6,
  debug: 7,
  trace: 7,
};

/**
 * Whether standard error is connected to the journal of systemd: JOURNAL_STREAM names the device and inode of the stream
 * (systemd.exec(5)).
 */
export function isJournalStream(named: string | undefined): boolean {
  if (named === undefined) return false;
  const { dev, ino } = fstatSync(2);
  return named === `${dev}:${ino}`;
}

/** The prefix of a log line from which the journal takes its priority (sd-daemon(3)). @param line in JSON */
export function priorityPrefix(line: string): string {
  const level = /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? 'info';
  return `<${PRIORITIES[level] ?? PRIORITIES.info}>`;
}
