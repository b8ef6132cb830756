import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { listenOnFreePort } from './free-ports.ts';

/** A Sentinel that knows one master. It can announce a failover at the moment when a client asks for the master. */
export class FakeSentinel {
  readonly #masterPort: number;
  readonly #subscribers = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));
  #announces = false;
  /** How often a client asked for the master. */
  asked = 0;

  private constructor(masterPort: number) {
    this.#masterPort = masterPort;
  }

  /** @param masterPort the port of the master, on loopback */
  static async start(masterPort: number): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(masterPort);
    await listenOnFreePort(sentinel.#server);
    return sentinel;
  }

  /** Value for REDIS_URL. */
  get url(): string {
    return `redis+sentinel://127.0.0.1:${(this.#server.address() as AddressInfo).port}/main`;
  }

  /** Number of connections that have subscribed to news of a failover. */
  get subscribers(): number {
    return this.#subscribers.size;
  }

  /**
   * Announces a failover when the next client asks for the master. The client gets its answer only after the
   * subscribers have closed their connections.
   */
  announceWhenAsked(): void {
    this.#announces = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#subscribers.delete(socket);
    });
    let received = '';
    socket.on('data', async (data) => {
      received += data;
      const { commands, rest } = commandsOf(received);
      received = rest;
      for (const command of commands) socket.write(await this.#answer(command, socket));
    });
  }

  async #answer([name, ...args]: readonly string[], socket: Socket): Promise<string> {
    switch (name?.toLowerCase()) {
      case 'hello':
        return '-NOPROTO unsupported protocol version\r\n';
      case 'subscribe':
        this.#subscribers.add(socket);
        return `*3\r\n${bulk('subscribe')}${bulk(args[0] as string)}:1\r\n`;
      case 'sentinel': {
        if (args[0] !== 'get-master-addr-by-name') return '*0\r\n';
        this.asked++;
        await this.#announce();
        return `*2\r\n${bulk('127.0.0.1')}${bulk(String(this.#masterPort))}`;
      }
      default:
        return '+OK\r\n';
    }
  }

  /** Announces a failover. Resolves when all subscribers have closed their connections. */
  async #announce(): Promise<void> {
    if (!this.#announces) return;
    this.#announces = false;
    const closed = [...this.#subscribers].map((socket) => once(socket, 'close'));
    for (const socket of this.#subscribers)
      socket.write(
        `*3\r\n${bulk('message')}${bulk('+switch-master')}${bulk('main 127.0.0.1 1 127.0.0.1 2')}`,
      );
    await Promise.all(closed);
  }
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

/** The complete commands of a text in the protocol of Redis, and the text after them. */
function commandsOf(text: string): { commands: string[][]; rest: string } {
  const commands: string[][] = [];
  let rest = text;
  for (;;) {
    const count = Number(/^\*(\d+)\r\n/.exec(rest)?.[1] ?? Number.NaN);
    const parts = new RegExp(`^\\*\\d+\\r\\n((?:\\$\\d+\\r\\n.*\\r\\n){${count}})`).exec(rest);
    if (!parts) return { commands, rest };
    commands.push([...(parts[1] as string).matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, part]) => part as string));
    rest = rest.slice(parts[0].length);
  }
}
