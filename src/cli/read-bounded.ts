/**
 * All bytes of a stream.
 * @throws RangeError if there are more than `max_bytes`
 */
export async function readBounded(
  stream: AsyncIterable<Uint8Array | string>,
  max_bytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk as Uint8Array);
    bytes += piece.length;
    if (bytes > max_bytes) throw new RangeError(`more than ${max_bytes} bytes arrived`);
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}
