import type { ConfigurationError, SettingProblem } from '../daemon/admin/settings.ts';
import { maskTokens, printableLines, wrapText } from '../daemon/admin/texts.ts';
import { CliError, EXIT, withCertificateAdvice } from './cli-error.ts';
import type { Sink } from './output.ts';

/** How an error is reported: what happened, what to do, and the exit code. */
interface ErrorReport {
  message: string;
  advice?: string;
  exitCode: number;
  /** Present for a defect of the program. */
  stack?: string;
}

type Entry = {
  message?: (error: Error & Detail) => string;
  advice: string | ((error: Error & Detail) => string);
  exitCode: number;
};
type Detail = {
  code?: unknown;
  path?: unknown;
  address?: unknown;
  port?: unknown;
  place?: unknown;
  /** The setting with the address, if the daemon could not listen there. */
  setting?: unknown;
  cause?: unknown;
};

/** Advice for a damaged store. */
export const RESTORE =
  'Stop the daemon, keep a copy of the files in STATE_DIR, and replace them with the last good backup. Without a backup, start again with an empty STATE_DIR.';

const daemonOutOfReach: Entry = {
  message: (error) => `cannot reach the daemon${at(error)}: ${error.message}`,
  advice: 'Start the daemon with `agentd serve`, or pass its address with --url.',
  exitCode: EXIT.unavailable,
};

/** Errors of connections, by code or name. */
const NETWORK = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|TimeoutError|UND_ERR_)/;

/** Codes of the embedded store for a lock that another process holds. */
const BUSY = /^SQLITE_BUSY/;

const fileInTheWay: Entry = {
  message: (error) => `a file is in the way${at(error)}`,
  advice: 'Move the file away, or run the command in another directory.',
  exitCode: EXIT.unavailable,
};

/** Codes of the system for a file that could not be written. */
const NO_ROOM = /^(?:ENOSPC|EDQUOT|EFBIG|EROFS)$/;

/**
 * Known errors, by code or name. The causes of an error are looked up, too, outermost first.
 */
const KNOWN: Readonly<Record<string, Entry>> = {
  ConfigurationError: {
    advice: (error) => configurationAdvice((error as Partial<ConfigurationError>).problems ?? []),
    exitCode: EXIT.config,
  },
  ChannelStartFailed: {
    advice:
      'Check the settings of that channel, and that this machine can reach its platform; or remove the channel from MESSAGING_PLATFORMS.',
    exitCode: EXIT.unavailable,
  },
  StoreMissing: {
    advice:
      'Nothing is stored yet. Start the daemon with `agentd serve`, or check with `agentd config show` that STATE_DIR is the same as for the daemon.',
    exitCode: EXIT.no,
  },
  StoreLocked: {
    advice:
      'Stop the daemon that uses this STATE_DIR, then repeat the command. A second daemon needs a STATE_DIR of its own.',
    exitCode: EXIT.unavailable,
  },
  DevAlreadyRunning: {
    advice: 'Stop it, or run this one in another directory.',
    exitCode: EXIT.unavailable,
  },
  StoreOfAnotherLayout: {
    advice:
      'Run the version of agentd that wrote the store, or begin with an empty one: set STATE_DIR, REDIS_URL or DATABASE_URL to another place, or delete the old data. Before the first release, no data is converted: agentd-store(7), "Layout".',
    exitCode: EXIT.unavailable,
  },
  StoreTooOld: {
    advice: 'Update the server that REDIS_URL names, or name another server.',
    exitCode: EXIT.unavailable,
  },
  BackupFailed: {
    advice: 'Name a new file in a directory that this user can write, on a volume with enough space.',
    exitCode: EXIT.no,
  },
  RestoreRefused: {
    advice: ({ cause }) =>
      NO_ROOM.test(String((cause as Detail | undefined)?.code))
        ? 'Check that the disk of STATE_DIR has free space, and that this user can write there.'
        : 'Name a file that `agentd backup` has written.',
    exitCode: EXIT.no,
  },
  StoreDamaged: {
    message: (error) => `the store is damaged${at(error)}: ${describeCause(error)}`,
    advice: RESTORE,
    exitCode: EXIT.unavailable,
  },
  StateDirectoryBlocked: {
    message: (error) => `cannot open the store: ${describeCause(error)}`,
    advice: 'Set STATE_DIR to a directory; `agentd config show` shows where its value comes from.',
    exitCode: EXIT.unavailable,
  },
  StoreBusy: {
    message: (error) => `another process holds the lock of the database${at(error)}`,
    advice:
      'Repeat the command when that process has finished. It may be another command, such as `agentd person erase`, or a program that has opened the file.',
    exitCode: EXIT.unavailable,
  },
  StoreUnavailable: {
    message: (error) => `cannot open the store${at(error)}: ${describeCause(error)}`,
    advice: (error) => withCertificateAdvice(storeAdvice(error), describeCause(error)),
    exitCode: EXIT.unavailable,
  },
  EADDRINUSE: {
    message: (error) => `the address is in use${at(error)}`,
    advice: ({ setting }) =>
      `Stop the program that listens there, for example a daemon that has not ended yet, or ${
        setting === 'ADMIN_LISTEN'
          ? 'set ADMIN_LISTEN to an address with a free port'
          : 'set PORT to a free port, for example with `PORT=8081` before the command'
      }.`,
    exitCode: EXIT.unavailable,
  },
  EADDRNOTAVAIL: {
    message: (error) => `the address does not belong to this machine${at(error)}`,
    advice: ({ setting }) =>
      setting === 'ADMIN_LISTEN'
        ? 'Set ADMIN_LISTEN to an address of this machine with a port, such as 127.0.0.1:9464, or :9464 for every address.'
        : 'Set HOST to an address of this machine, 127.0.0.1 or 0.0.0.0.',
    exitCode: EXIT.config,
  },
  EACCES: {
    message: (error) => `permission denied${at(error)}`,
    advice:
      'Run the command as the user that the daemon runs as. A port below 1024 requires special privileges.',
    exitCode: EXIT.config,
  },
  EEXIST: fileInTheWay,
  ENOTDIR: fileInTheWay,
  ENOSPC: {
    message: (error) => `no space left on the device${at(error)}`,
    advice: 'Free space on the disk of STATE_DIR and LOG_FILE.',
    exitCode: EXIT.unavailable,
  },
};

/** What to do about a wrong configuration. */
export function configurationAdvice(problems: readonly SettingProblem[]): string {
  const isUnset = problems.every(({ value, source }) => value === null && source === null);
  // Every configuration has this setting: nobody has set anything yet.
  if (isUnset && problems.some(({ setting }) => setting === 'JWT_ALGORITHM'))
    return 'To try agentd with nothing set up, run `agentd serve --dev`. To write a configuration, run `agentd init`. `agentd config reference NAME` describes a setting.';
  return 'Fix these settings. `agentd config reference NAME` describes one, and `agentd config show` shows where its value comes from.';
}

/** The report for an error. Tokens in its message and stack are masked. */
export function explainError(error: unknown): ErrorReport {
  if (error instanceof CliError) {
    const { message, advice, exitCode } = error;
    return maskReport({ message, exitCode, ...(advice === undefined ? {} : { advice }) });
  }
  for (const inner of causes(error)) {
    const names = isBusyStore(inner) ? ['StoreBusy'] : [String((inner as Detail).code), inner.name];
    const isNetwork = names.some((name) => NETWORK.test(name));
    const entry =
      names.map((name) => KNOWN[name]).find(Boolean) ?? (isNetwork ? daemonOutOfReach : undefined);
    if (entry) {
      const { exitCode } = entry;
      const advice = typeof entry.advice === 'string' ? entry.advice : entry.advice(inner);
      return maskReport({ message: entry.message?.(inner) ?? inner.message, advice, exitCode });
    }
  }
  const unexpected = error instanceof Error ? error : new Error(String(error));
  return maskReport({
    message: `unexpected error: ${unexpected.message}`,
    advice:
      'This is a defect of agentd. Please report it with these lines, the command, and the output of `agentd --version`.',
    exitCode: EXIT.no,
    ...(unexpected.stack === undefined ? {} : { stack: unexpected.stack }),
  });
}

/** Prints on stderr what went wrong and what to do. @returns the exit code */
export function reportError(error: unknown, stderr: Sink): number {
  const { message, advice, exitCode, stack } = explainError(error);
  const lines = [`agentd: ${message}${message.includes('\n') ? '\n' : ''}`];
  if (stack !== undefined) lines.push(stack);
  if (advice !== undefined) lines.push(advice);
  // The text may quote an argument, or the answer of a server.
  const text = printableLines(lines.join('\n'));
  const width = stderr.isTTY && stderr.columns ? stderr.columns : Number.POSITIVE_INFINITY;
  stderr.write(
    `${text
      .split('\n')
      .flatMap((line) => wrapIndented(line, width))
      .join('\n')}\n`,
  );
  return exitCode;
}

/** The continuation of a line has the same indentation. */
function wrapIndented(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return wrapText(line.slice(indent.length), width - indent.length).map((part) => `${indent}${part}`);
}

/**
 * The error and its causes. An AggregateError (for example, if both addresses of a host refused the connection) is
 * followed by its first error.
 */
function* causes(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    yield current;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
}

function isBusyStore({ name, cause }: Error): boolean {
  return name === 'StoreUnavailable' && BUSY.test(String((cause as Detail | undefined)?.code));
}

/** The message of the cause of an error, which says more, or else its own. */
export function describeCause(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

const DISK = 'Check that the disk of STATE_DIR has free space, and that this user can read and write there.';

/** `place`: the store, which begins with the name of its backend; null if it is not known. */
function storeAdvice({ place, cause }: Detail): string {
  const [backend] = typeof place === 'string' ? place.split(' ') : [];
  const isServer = backend === 'redis' || backend === 'postgres';
  if (isServer && isRefusal(cause))
    return 'The server answers, but refuses: its message and its log say why.';
  const reach = 'and that this machine reaches the server.';
  if (backend === 'redis') return `Check REDIS_URL, ${reach}`;
  if (backend === 'postgres') return `Check DATABASE_URL, ${reach}`;
  return typeof place === 'string'
    ? DISK
    : `${DISK} With Redis or Postgres, check REDIS_URL or DATABASE_URL, ${reach}`;
}

/** Whether it is an error message of Redis or Postgres, as their clients represent it. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof Error && (cause.name === 'ReplyError' || 'severity' in cause);
}

function at({ path, place, address, port }: Detail): string {
  if (typeof path === 'string') return ` (${path})`;
  if (typeof place === 'string') return ` (${place})`;
  if (typeof address === 'string')
    return ` (${[address, port].filter((part) => part !== undefined).join(':')})`;
  return '';
}

function maskReport(report: ErrorReport): ErrorReport {
  return {
    ...report,
    message: maskTokens(report.message),
    ...(report.stack === undefined ? {} : { stack: maskTokens(report.stack) }),
  };
}
