import { createServer } from 'node:http';
import { drive, type LoadOrder } from '../load.ts';
import { deliveries } from './deliveries.ts';

export interface DoneOrder extends LoadOrder {
  platform_port: number;
}

/**
 * Delivers messages and is the platform to which their replies are posted: a message is done when a reply has arrived.
 * As many messages are on their way as there are connections, so it does not matter which reply arrives.
 */
process.once('message', async (order: DoneOrder) => {
  let arrived = 0;
  const waiting: (() => void)[] = [];
  const platform = createServer((request, response) => {
    request.resume().on('end', () => {
      const answer = JSON.stringify({ ok: true, channel: 'D1', ts: '1700000000.000100' });
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': answer.length });
      response.end(answer);
      const next = waiting.shift();
      if (next) next();
      else arrived++;
    });
  });
  // The servers keep connections, and none shall end while it is taken for the next reply.
  platform.keepAliveTimeout = 600_000;
  platform.listen(order.platform_port, '127.0.0.1');
  const done = () =>
    new Promise<void>((resolve) => {
      if (arrived === 0) waiting.push(resolve);
      else {
        arrived--;
        resolve();
      }
    });
  process.send?.(await drive(order, deliveries(), done));
  process.exit();
});
