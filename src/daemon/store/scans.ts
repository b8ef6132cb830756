import type { Kernel, Kind } from './kernels/kernel.ts';

/** All live documents of a kind that are meant, in no particular order. */
export async function listDocuments<T>(
  kernel: Kernel,
  kind: Kind<T, unknown>,
  isMeant: (doc: T) => boolean = () => true,
): Promise<T[]> {
  const found: T[] = [];
  for await (const { doc } of kernel.scan(kind)) if (isMeant(doc)) found.push(doc);
  return found;
}

/** The items in groups of this size; the last group may be smaller. */
export async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    if (batch.push(item) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** How many documents more than the limit are held until they are sorted. */
const SPARE = 1000;

/**
 * The first documents of a kind in an order that has no index. Reads all documents, but holds only few of them at a time.
 * @param compare as for `Array.sort`
 */
export async function findFirst<T>(
  kernel: Kernel,
  kind: Kind<T, unknown>,
  { isMeant, compare, limit }: { isMeant(doc: T): boolean; compare(a: T, b: T): number; limit: number },
): Promise<T[]> {
  let found: T[] = [];
  const cut = () => found.sort(compare).slice(0, limit);
  for await (const { doc } of kernel.scan(kind)) {
    if (!isMeant(doc)) continue;
    found.push(doc);
    if (found.length >= limit + SPARE) found = cut();
  }
  return cut();
}
