import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import pino from 'pino';
import { formatLogLine } from './log-line.ts';
import { maskTokens } from './secret.ts';

export type Log = pino.Logger;

/** What waits in memory for a log file that cannot be written, in bytes; lines beyond it are dropped. */
const HELD_BACK_MAX = 1_048_576;

export interface LogOptions {
  level: string;
  /** Also written here, one JSON object a line. */
  file?: string | undefined;
  /** Lines for people on stderr instead of JSON. */
  pretty: boolean;
}

/**
 * The log: JSON lines on stderr (or pretty ones on a terminal) and, where set, in a file. Writes are
 * synchronous, so that nothing is lost at `kill -9`. The last thing before a line leaves is a mask over
 * anything shaped like a JWT, since no list of fields can know every place where one may turn up.
 */
export function createLog(options: LogOptions): Log & { reopen(): void } {
  const file = options.file ? openLogFile(options.file) : undefined;
  const sinks: pino.StreamEntry[] = [
    {
      level: 'trace',
      stream: {
        write: (line: string) =>
          process.stderr.write(options.pretty ? formatLogLine(line, { colour: true }) : line),
      },
    },
  ];
  if (file) sinks.push({ level: 'trace', stream: file });
  const log = pino(
    {
      level: options.level.toLowerCase(),
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
      hooks: { streamWrite: maskTokens },
    },
    pino.multistream(sinks),
  );
  if (file) outliveFailures(file, log);
  return Object.assign(log, { reopen: () => file?.reopen() });
}

/** A disk that is full must not end the daemon: the other sink is told once, until lines are written again. */
function outliveFailures(file: LogFile, log: Log): void {
  let failing = false;
  file.on('error', (error) => {
    if (failing) return;
    failing = true;
    log.error({ err: error }, 'LOG_FILE cannot be written; lines are held back, then dropped');
  });
  file.on('write', () => {
    failing = false;
  });
}

type LogFile = ReturnType<typeof pino.destination>;

/** An operator rotates it (logrotate, then SIGHUP), so it is reopened by name. */
function openLogFile(path: string): LogFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return pino.destination({ dest: path, sync: true, mode: 0o640, maxLength: HELD_BACK_MAX });
}

/** Errors of libraries carry whole requests; only these fields of an error and its causes are logged. */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(depth === 0 ? { stack: error.stack } : {}),
    ...(error.cause !== undefined && depth < 3 ? { cause: serializeError(error.cause, depth + 1) } : {}),
  };
}
