import type { Kernel, Kind } from './kernels/kernel.ts';

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
