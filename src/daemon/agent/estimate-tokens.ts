const BYTES_PER_TOKEN = 4;

/** The approximate number of tokens of a text, by the usual rule of four bytes per token. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
