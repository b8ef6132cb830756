import { maskTokens } from '../daemon/secret.ts';
import { CliError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import type { Sink } from './output.ts';

/** What is said of an error, in three parts: what happened and on what, what to do, and the exit code. */
export interface ErrorReport {
  message: string;
  advice?: string;
  exitCode: number;
  /** Where in the program, for what is a defect of it. */
  stack?: string;
}

type Entry = { message?: (error: Error & Detail) => string; advice: string; exitCode: number };
type Detail = { code?: unknown; path?: unknown; address?: unknown; port?: unknown; cause?: unknown };

/** What to do with a store that is damaged. */
export const RESTORE =
  'Stop the daemon, keep a copy of what is in STATE_DIR, and put the last good copy there; without one, an empty STATE_DIR begins anew.';

const daemonOutOfReach: Entry = {
  message: (error) => `the daemon is out of reach${at(error)}: ${error.message}`,
  advice: 'Is it running? Start it with `agentd serve`, or name its address with --url.',
  exitCode: EXIT.unavailable,
};

/** By the error's code, else its name; those of its causes are looked up too, the outermost first. */
const KNOWN: Readonly<Record<string, Entry>> = {
  ConfigurationError: {
    advice:
      'Mend these settings; `agentd config reference` describes each, `agentd config show` tells where its value comes from.',
    exitCode: EXIT.config,
  },
  ChannelStartFailed: {
    advice:
      'Look at the settings of that channel, and at whether this machine reaches what it talks to; or leave it out of MESSAGING_PLATFORMS.',
    exitCode: EXIT.unavailable,
  },
  StoreMissing: {
    advice: "Nothing is stored yet. Is STATE_DIR the same as the daemon's? `agentd config show` tells.",
    exitCode: EXIT.no,
  },
  StoreLocked: {
    advice:
      'Another daemon works on the same STATE_DIR: stop that one, or give this one a directory of its own.',
    exitCode: EXIT.unavailable,
  },
  DevAlreadyRunning: {
    advice: 'Stop that one, or run this one in another directory.',
    exitCode: EXIT.unavailable,
  },
  StoreTooNew: {
    advice: 'Run the version of agentd that wrote it, or a later one.',
    exitCode: EXIT.unavailable,
  },
  BackupFailed: {
    advice: 'Make room on the volume of STATE_DIR, or point STATE_DIR at a copy of it on a larger volume.',
    exitCode: EXIT.unavailable,
  },
  StoreDamaged: {
    message: (error) => `the store is damaged: ${causeOf(error)}`,
    advice: RESTORE,
    exitCode: EXIT.unavailable,
  },
  StoreUnavailable: {
    message: (error) => `the store is out of reach: ${causeOf(error)}`,
    advice: 'Look at STATE_DIR: does the disk have room, may this user read and write there?',
    exitCode: EXIT.unavailable,
  },
  EADDRINUSE: {
    message: (error) => `the address is in use${at(error)}`,
    advice:
      'Is another daemon running there? Stop it, or set PORT or ADMIN_LISTEN to a free port (0 takes any).',
    exitCode: EXIT.unavailable,
  },
  EADDRNOTAVAIL: {
    message: (error) => `this machine does not have the address${at(error)}`,
    advice: 'Set HOST or ADMIN_LISTEN to an address of this machine, 127.0.0.1 or 0.0.0.0.',
    exitCode: EXIT.config,
  },
  EACCES: {
    message: (error) => `permission denied${at(error)}`,
    advice:
      'Run the command as the user that the daemon runs as; ports below 1024 need the right to bind them.',
    exitCode: EXIT.config,
  },
  ENOSPC: {
    message: (error) => `no space left on the device${at(error)}`,
    advice: 'Make room on the disk that holds STATE_DIR and LOG_FILE.',
    exitCode: EXIT.unavailable,
  },
  ECONNREFUSED: daemonOutOfReach,
  ECONNRESET: daemonOutOfReach,
  EHOSTUNREACH: daemonOutOfReach,
  ENETUNREACH: daemonOutOfReach,
  ENOTFOUND: daemonOutOfReach,
  EAI_AGAIN: daemonOutOfReach,
  ETIMEDOUT: daemonOutOfReach,
  TimeoutError: daemonOutOfReach,
  UND_ERR_SOCKET: daemonOutOfReach,
  UND_ERR_CONNECT_TIMEOUT: daemonOutOfReach,
};

/** The table's answer for an error. Texts come without the tokens that they may have held. */
export function explainError(error: unknown): ErrorReport {
  if (error instanceof CliError) {
    const { message, advice, exitCode } = error;
    return masked({ message, exitCode, ...(advice === undefined ? {} : { advice }) });
  }
  for (const inner of causes(error)) {
    const entry = KNOWN[String((inner as Detail).code)] ?? KNOWN[inner.name];
    if (entry) {
      const { advice, exitCode } = entry;
      return masked({ message: entry.message?.(inner) ?? inner.message, advice, exitCode });
    }
  }
  const unexpected = error instanceof Error ? error : new Error(String(error));
  return masked({
    message: `unexpected error: ${unexpected.message}`,
    advice:
      'This is a defect of agentd. Please report it with these lines, `agentd --version`, and what was typed.',
    exitCode: EXIT.no,
    ...(unexpected.stack === undefined ? {} : { stack: unexpected.stack }),
  });
}

/** Says on stderr what went wrong and what to do. @returns the exit code. */
export function reportError(error: unknown, stderr: Sink): number {
  const { message, advice, exitCode, stack } = explainError(error);
  const lines = [`agentd: ${message}${message.includes('\n') ? '\n' : ''}`];
  if (stack !== undefined) lines.push(stack);
  if (advice !== undefined) lines.push(advice);
  stderr.write(`${lines.join('\n')}\n`);
  return exitCode;
}

/** The error and what caused it; an AggregateError (both addresses of a host refused) through its first. */
function* causes(error: unknown): Generator<Error> {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    yield current;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
}

function causeOf(error: Error & Detail): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function at({ path, address, port }: Detail): string {
  if (typeof path === 'string') return ` (${path})`;
  if (typeof address === 'string')
    return ` (${[address, port].filter((part) => part !== undefined).join(':')})`;
  return '';
}

function masked(report: ErrorReport): ErrorReport {
  return {
    ...report,
    message: maskTokens(report.message),
    ...(report.stack === undefined ? {} : { stack: maskTokens(report.stack) }),
  };
}
