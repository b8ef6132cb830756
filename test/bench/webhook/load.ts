import { drive, type LoadOrder } from '../load.ts';
import { deliveries } from './deliveries.ts';

/** Waits for an order from the parent process, carries it out, and sends back the result. */
process.once('message', async (order: LoadOrder) => {
  process.send?.(await drive(order, deliveries()));
  process.disconnect();
});
