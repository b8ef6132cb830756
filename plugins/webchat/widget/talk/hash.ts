/**
 * A hash of 52 bits. It only keeps names out of keys, and tokens out of contents: whose a conversation is, its content
 * says.
 */
export function hash(text: string): string {
  let [one, two] = [0xdeadbeef, 0x41c6ce57];
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    one = Math.imul(one ^ code, 2654435761);
    two = Math.imul(two ^ code, 1597334677);
  }
  return (one >>> 0).toString(36) + (two >>> 0).toString(36);
}
