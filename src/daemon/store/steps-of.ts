import type { Kernel, StepOptions, Tx } from './kernels/kernel.ts';

/** Makes methods of a port, each of which is one step of the kernel: the work gets the transaction before the arguments. */
export function stepsOf(kernel: Kernel) {
  return <A extends unknown[], R>(work: (tx: Tx, ...args: A) => R, options?: StepOptions) =>
    (...args: A): Promise<R> =>
      kernel.step((tx) => work(tx, ...args), options);
}
