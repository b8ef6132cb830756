import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy between a client and a daemon. It breaks connections in the middle of an answer. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Number of broken connections. */
  cuts = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param bytesOf called for each connection; returns how many bytes of the answer get through */
  static async start(url: string, bytesOf: () => number): Promise<CuttingProxy> {
    const { hostname, port } = new URL(url);
    const server = createServer((client) => {
      const daemon = connect(Number(port), hostname);
      let left = bytesOf();
      for (const socket of [client, daemon]) {
        proxy.#sockets.add(socket);
        socket.on('error', () => socket.destroy());
        socket.on('close', () => {
          proxy.#sockets.delete(socket);
          client.destroy();
          daemon.destroy();
        });
      }
      client.pipe(daemon);
      daemon.on('data', (bytes: Buffer) => {
        const through = bytes.subarray(0, left);
        left -= through.length;
        if (through.length === bytes.length) client.write(through);
        else {
          proxy.cuts++;
          client.write(through, () => client.destroy());
        }
      });
      daemon.on('end', () => client.end());
    });
    const proxy = new CuttingProxy(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on, no data gets through, but connections stay open. */
  hold(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('data').pause();
    this.#server.removeAllListeners('connection').on('connection', (client) => this.#sockets.add(client));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
