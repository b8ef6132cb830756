import type { Kernel, Kind, StepOptions, Tx } from './kernels/kernel.ts';

/** Makes methods of a port, each of which is one step of the kernel: the work gets the transaction before the arguments. */
export function stepsOf(kernel: Kernel) {
  return <A extends unknown[], R>(work: (tx: Tx, ...args: A) => R, options?: StepOptions) =>
    (...args: A): Promise<R> =>
      kernel.step((tx) => work(tx, ...args), options);
}

/** All live documents of a kind that are meant, in no particular order. */
export async function listed<T>(
  kernel: Kernel,
  kind: Kind<T, unknown>,
  isMeant: (doc: T) => boolean = () => true,
): Promise<T[]> {
  const found: T[] = [];
  for await (const { doc } of kernel.scan(kind)) if (isMeant(doc)) found.push(doc);
  return found;
}
