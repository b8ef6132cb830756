import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { JSONRPCMessage, MCPTransportSendOptions } from '@ai-sdk/mcp';
import type { Log } from '../../process/log.ts';
import { maskEchoed } from '../../settings/mask-secrets.ts';
import type { Secret } from '../../settings/secret.ts';
import { printable } from '../../texts/printable.ts';
import type { AlarmClock, Clock } from '../../time/clock.ts';
import { onAbort, within } from '../../time/time-limit.ts';
import { McpFailure } from './failure.ts';
import {
  InboundMeter,
  isAnswer,
  isNotification,
  LineSplitter,
  MAX_MESSAGE_BYTES,
  type McpTransport,
  type Notification,
  parseMessage,
  requestId,
} from './transport.ts';

/** How long a program may take to end, ms: first after its input was closed, then after SIGTERM. */
const END_MS = { input: 1_000, SIGTERM: 2_000 } as const;
/**
 * How long to wait for the last output of a program that has ended, ms. Another program that it started may keep the
 * pipe open.
 */
const LAST_WORDS_MS = 500;
/** Maximum size of the data that was written to the program and that it has not read yet, bytes. */
const MAX_UNREAD_BYTES = 4 * MAX_MESSAGE_BYTES;

interface StdioTransportOptions {
  command: readonly [string, ...string[]];
  env: Readonly<Record<string, string>>;
  clock: AlarmClock;
  log: Pick<Log, 'debug'>;
  /** What no line of the log may show. */
  secrets: readonly Secret[];
}

/**
 * MCP over the standard input and output of a program (agentd-agent(7), "MCP"). The program gets `PATH` and the `env`
 * of its entry, and nothing else from the daemon's environment. The library's transport is not used: it would pass on
 * more of the environment, and has no limits.
 *
 * The program leads its own process group. Therefore the programs that it starts end with it, and a signal from the
 * daemon's terminal does not end it before the daemon has finished the messages in progress.
 */
export class StdioTransport implements McpTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  onnotification?: (notification: Notification) => void;
  readonly mayStaySilent = true;
  protocolVersion?: string;
  readonly #options: StdioTransportOptions;
  readonly #meter: InboundMeter;
  readonly #lines = new LineSplitter();
  /** The requests without an answer. Each value is a function that stops listening for an abort of the request. */
  readonly #asked = new Map<string | number, () => void>();
  readonly #end = new AbortController();
  #child: ChildProcess | null = null;
  /** Resolves when the program has ended. */
  #exited: Promise<void> = Promise.resolve();
  #ending: Promise<void> | null = null;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#meter = new InboundMeter(options.clock);
  }

  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Rejects if the program cannot be started. */
  start(): Promise<void> {
    const [program, ...args] = this.#options.command;
    const { PATH } = process.env;
    const child = spawn(program, args, {
      env: { ...(PATH === undefined ? {} : { PATH }), ...this.#options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child = child;
    const started = Promise.withResolvers<void>();
    const exited = Promise.withResolvers<void>();
    this.#exited = exited.promise;
    child.once('spawn', () => started.resolve());
    child.once('error', (cause) => {
      const failure = new McpFailure('mcp_unreachable', 'The program cannot be started.', { cause });
      started.reject(failure);
      if (child.pid === undefined) exited.resolve();
      this.fail(failure);
    });
    child.once('exit', (code, signal) => {
      exited.resolve();
      const failure = new McpFailure(
        'mcp_unreachable',
        `The program has ended (${signal ?? `code ${code}`}).`,
      );
      child.once('close', () => this.fail(failure));
      this.#options.clock.after(LAST_WORDS_MS, () => this.fail(failure));
    });
    child.stdout.on('data', (piece: Buffer) => this.#read(piece));
    for (const stream of [child.stdin, child.stdout, child.stderr])
      stream.on('error', (cause) =>
        this.fail(new McpFailure('mcp_unreachable', 'The program cannot be reached.', { cause })),
      );
    logStderr(child.stderr, this.#options);
    return started.promise;
  }

  ready(listen: JSONRPCMessage | null): void {
    // The server answers only when it sends no more notifications, so nothing waits for the answer.
    if (listen !== null) this.#child?.stdin?.write(`${JSON.stringify(listen)}\n`);
  }

  async send(message: JSONRPCMessage, { signal }: MCPTransportSendOptions = {}): Promise<void> {
    this.#end.signal.throwIfAborted();
    const stdin = this.#child?.stdin;
    if (!stdin) throw new McpFailure('mcp_unreachable', 'The program is not running.', { reached: false });
    if (stdin.writableLength > MAX_UNREAD_BYTES)
      throw new McpFailure('mcp_unreachable', 'The program does not read its input.', { reached: false });
    stdin.write(`${JSON.stringify(message)}\n`);
    const id = requestId(message);
    if (id === null) return;
    this.#asked.set(id, signal ? onAbort(signal, () => this.#cancel(id)) : () => {});
  }

  fail(failure: Error): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort(failure);
    this.onerror?.(failure);
    this.onclose?.();
    // The program is ended only once, because its process id may belong to another process afterward.
    this.#ending = this.#endProgram();
  }

  /** Resolves when the program has ended. Resolves at once if it was never started. */
  async close(): Promise<void> {
    this.fail(new McpFailure('mcp_ended', 'The connection was closed.'));
    await this.#ending;
  }

  #read(piece: Buffer): void {
    if (this.#end.signal.aborted) return;
    try {
      for (const line of this.#lines.push(piece)) this.#receive(line);
    } catch (error) {
      this.fail(error instanceof Error ? error : new McpFailure('not_mcp', String(error)));
    }
  }

  #receive(line: string): void {
    if (this.#end.signal.aborted) return;
    const message = parseLine(line);
    if (message && isAnswer(message) && this.#isAwaited(message.id)) {
      this.onmessage?.(message);
      return;
    }
    this.#meter.message();
    this.#meter.bytes(line.length);
    if (message === null) return;
    if (isNotification(message)) this.onnotification?.(message);
    else if ('method' in message) this.onmessage?.(message);
  }

  #isAwaited(id: string | number | undefined): boolean {
    const stopListening = id === undefined ? undefined : this.#asked.get(id);
    if (id === undefined || !stopListening) return false;
    stopListening();
    return this.#asked.delete(id);
  }

  /** Tells the server that no call waits for the answer anymore. If the answer arrives later, it is not delivered. */
  #cancel(id: string | number): void {
    if (!this.#asked.delete(id) || this.#end.signal.aborted) return;
    const params = { requestId: id, reason: 'the call was ended' };
    const notification: JSONRPCMessage = { jsonrpc: '2.0', method: 'notifications/cancelled', params };
    this.#child?.stdin?.write(`${JSON.stringify(notification)}\n`);
  }

  /** Closes the program's input, sends SIGTERM if the program continues, and finally sends SIGKILL to its group. */
  async #endProgram(): Promise<void> {
    const child = this.#child;
    if (!child?.pid) return;
    child.stdin?.end();
    if (!(await this.#exitsWithin(END_MS.input))) {
      signalGroup(child.pid, 'SIGTERM');
      await this.#exitsWithin(END_MS.SIGTERM);
    }
    // The group includes programs that this program started, which may outlive it.
    signalGroup(child.pid, 'SIGKILL');
    await this.#exited;
  }

  #exitsWithin(ms: number): Promise<boolean> {
    const exits = this.#exited.then(() => true);
    return within(exits, ms, () => false, this.#options.clock);
  }
}

/** Parses a line of output; null if it is not a message, because some programs print other lines, too. */
function parseLine(line: string): JSONRPCMessage | null {
  try {
    return parseMessage(line);
  } catch {
    return null;
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // No process of the group exists anymore.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const WINDOW_MS = 60_000;
/** Maximum number of lines that are logged per minute. */
const MAX_LINES = 100;
const MAX_CHARACTERS = 1_000;

/**
 * Logs at `debug` what a program writes to its standard error, without its secrets. Long lines are cut, and lines beyond
 * `MAX_LINES` are left out.
 */
function logStderr(
  stderr: Readable,
  { clock, log, secrets }: { clock: Clock; log: Pick<Log, 'debug'>; secrets: readonly Secret[] },
): void {
  let since = clock.now();
  let lines = 0;
  let left_out = 0;
  let rest = '';
  stderr.setEncoding('utf8');
  stderr.on('data', (piece: string) => {
    const all = `${rest}${piece}`.split('\n');
    // Of an incomplete line, only a part that may be logged is kept. It is longer, so that no secret in it is cut.
    rest = (all.pop() ?? '').slice(0, 10 * MAX_CHARACTERS);
    for (const line of all) write(line);
  });
  stderr.on('end', () => {
    if (rest !== '') write(rest);
  });

  function write(line: string): void {
    const now = clock.now();
    if (Math.abs(now - since) >= WINDOW_MS) {
      if (left_out > 0) log.debug({ left_out }, 'lines of the program were left out');
      since = now;
      lines = 0;
      left_out = 0;
    }
    if (lines === MAX_LINES) {
      left_out++;
      return;
    }
    lines++;
    const masked = maskEchoed(line, secrets);
    const shown = printable(masked.slice(0, MAX_CHARACTERS));
    log.debug({ line: masked.length > MAX_CHARACTERS ? `${shown}…` : shown }, 'a line of the program');
  }
}
