import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa, execaSync } from 'execa';
import { closeAtEnd } from './close-at-end.ts';

/**
 * Whether tests are skipped because python3 or systemd-notify is missing. Always false with CI=true, so that the tests
 * fail there.
 */
export const withoutNotify =
  process.env.CI !== 'true' &&
  ['python3', 'systemd-notify'].some(
    (program) => execaSync(program, ['--version'], { reject: false }).failed,
  );

/**
 * Prints each datagram as one line of JSON. A barrier of sd_notify(3) is a datagram with a file descriptor. The program
 * closes the descriptor without reading it, which tells the sender that everything before the barrier was read.
 */
const RECEIVER = `
import json, socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind('\\0' + name[1:] if name.startswith('@') else name)
print(json.dumps('bound'), flush=True)
while True:
    print(json.dumps(receiver.recv(4096).decode()), flush=True)
`;

/**
 * A datagram socket that receives the notifications of a service to its manager, like that of systemd. It is closed at
 * the end.
 */
export class NotifySocket {
  /** Value for NOTIFY_SOCKET. */
  readonly name: string;
  readonly #received: string[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #stop: () => Promise<void>;

  private constructor(name: string, stop: () => Promise<void>) {
    this.name = name;
    this.#stop = stop;
  }

  /** @param isAbstract whether the socket has no file; its name then begins with `@` */
  static async open({ isAbstract = false } = {}): Promise<NotifySocket> {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-notify-'));
    const path = join(directory, 'socket');
    const name = isAbstract ? `@${path}` : path;
    const child = execa('python3', ['-c', RECEIVER, name], {
      stdout: 'pipe',
      buffer: false,
      reject: false,
    });
    const socket = new NotifySocket(name, async () => {
      child.kill('SIGKILL');
      await child;
      rmSync(directory, { recursive: true, force: true });
    });
    closeAtEnd(() => socket.close());
    const lines = createInterface(child.stdout);
    lines.on('line', (line) => socket.#add(JSON.parse(line) as string));
    await once(lines, 'line');
    return socket;
  }

  /** The notifications so far, in order. */
  get received(): readonly string[] {
    return this.#received;
  }

  /** How many notifications contain an assignment, such as `WATCHDOG=1`. */
  count(assignment: string): number {
    return this.#received.filter((text) => text.split('\n').includes(assignment)).length;
  }

  /** Resolves when this many notifications contain the assignment. */
  async seen(assignment: string, times = 1): Promise<void> {
    while (this.count(assignment) < times)
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#listeners.delete(wake);
          resolve();
        };
        this.#listeners.add(wake);
      });
  }

  close(): Promise<void> {
    return this.#stop();
  }

  #add(text: string): void {
    if (text === 'bound' || text.startsWith('BARRIER=')) return;
    this.#received.push(text);
    for (const wake of [...this.#listeners]) wake();
  }
}
