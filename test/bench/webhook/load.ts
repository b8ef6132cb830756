import { drive, type LoadOrder } from '../load.ts';
import { deliveries } from './deliveries.ts';

/** The result that is sent to the parent process after its order. */
process.once('message', async (order: LoadOrder) => {
  process.send?.(await drive(order, deliveries()));
  process.disconnect();
});
