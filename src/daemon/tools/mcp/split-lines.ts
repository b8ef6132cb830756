import { McpFailure } from './mcp-failure.ts';
import { MAX_MESSAGE_BYTES } from './parse-message.ts';

/**
 * Splits bytes that arrive in pieces into lines of UTF-8. A line is refused as soon as it is longer than the largest
 * allowed message, so that no more of it is kept.
 */
export class LineSplitter {
  #pieces: Uint8Array[] = [];
  #size = 0;

  /**
   * @returns the lines that are now complete, without their line ends (LF or CRLF).
   * @throws McpFailure if a line is too long.
   */
  *push(piece: Uint8Array): Generator<string> {
    let begin = 0;
    for (let end = piece.indexOf(LF); end >= 0; end = piece.indexOf(LF, begin)) {
      this.#keep(piece.subarray(begin, end));
      begin = end + 1;
      yield this.#take();
    }
    this.#keep(piece.subarray(begin));
  }

  #keep(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    if (this.#size > MAX_MESSAGE_BYTES)
      throw new McpFailure('mcp_too_large', 'The server answered with more data than can be used.');
    if (piece.byteLength > 0) this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#size = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

const LF = 0x0a;
