import pino from 'pino';
import { LogFile } from './log-file.ts';
import { formatLogLine } from './log-line.ts';
import { escapeControls } from './printable.ts';
import { maskTokens } from './secret.ts';
import { sourceLocation } from './source-location.ts';

export type Log = pino.Logger;

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
export function createLog(options: LogOptions): Log & { reopen(): boolean } {
  const tell = (line: string) =>
    void process.stderr.write(options.pretty ? formatLogLine(line, { colour: true }) : line);
  const file = options.file ? new LogFile(options.file, tell) : undefined;
  const sinks: pino.StreamEntry[] = [{ level: 'trace', stream: { write: tell } }];
  if (file) sinks.push({ level: 'trace', stream: file });
  const log = pino(
    {
      level: options.level.toLowerCase(),
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: serializeError },
      hooks: { streamWrite: (line) => escapeControls(maskTokens(line)) },
    },
    pino.multistream(sinks),
  );
  return Object.assign(log, { reopen: () => file?.reopen() ?? false });
}

/** For causes, whose stacks are left out: the file and line in a plugin or runtime that an error comes from. */
function locationOf(error: Error): { at?: string } {
  const at = sourceLocation(error);
  return at === null ? {} : { at };
}

/** Errors of libraries carry whole requests; only these fields of an error and its causes are logged. */
function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(depth === 0 ? { stack: error.stack } : locationOf(error)),
    ...(error.cause !== undefined && depth < 3 ? { cause: serializeError(error.cause, depth + 1) } : {}),
  };
}
