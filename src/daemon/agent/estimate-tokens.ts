const BYTES_PER_TOKEN = 4;

/** About how many tokens a text has for a model: the usual rule of four bytes each. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
