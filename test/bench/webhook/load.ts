import { drive, type LoadOrder } from '../load.ts';
import { deliveries } from './deliveries.ts';

/** Sent in reply to an order from the parent process. */
process.once('message', async (order: LoadOrder) => {
  process.send?.(await drive(order, deliveries()));
  process.disconnect();
});
