import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { closeAtEnd } from './close-at-end.ts';

/**
 * These ports are below the range for outgoing connections and for `listen(0)`, which begins at 32768 on Linux. In that
 * range, another connection could take a port between its choice and its use.
 */
const FIRST_PORT = 12_000;
/** Each worker of Vitest has a separate range of ports. */
const WORKERS = 8;
const SHARE = 2500;

const first = FIRST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * SHARE;
let offset = Math.floor(Math.random() * SHARE);

/** A port of 127.0.0.1 on which nothing listens now. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < SHARE; tries++) {
    offset = (offset + 1) % SHARE;
    const port = first + offset;
    if (await isFree(port)) return port;
  }
  throw new Error(`no port from ${first} to ${first + SHARE - 1} is free`);
}

/** Ports of 127.0.0.1 on which nothing listens now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
}

/** Lets a server listen on a free port. It is closed at the end. @returns the port */
export async function listenOnFreePort(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAtEnd(() => {
    if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
