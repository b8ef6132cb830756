import { drive, type LoadOrder } from '../load.ts';
import { deliveries } from './deliveries.ts';

/** Sends the result to the parent process after its order. */
process.once('message', async (order: LoadOrder) => {
  process.send?.(await drive(order, deliveries()));
  process.disconnect();
});
