import { McpFailure } from './mcp-failure.ts';
import { MAX_MESSAGE_BYTES } from './parse-message.ts';
import { LineSplitter } from './split-lines.ts';

/**
 * The data of the `message` events of an event stream (text/event-stream), as they arrive. Other events are skipped, and
 * so are events without data: a server sends one with an id at the beginning of a stream that can be resumed. Ends when the stream ends. If the caller leaves the loop, the stream is canceled.
 * @throws McpFailure if an event is too large.
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const lines = new LineSplitter();
  let data: string[] = [];
  let size = 0;
  let type = '';
  for await (const piece of body) {
    for (const line of lines.push(piece)) {
      if (line === '') {
        const text = data.join('\n');
        if (text !== '' && (type === '' || type === 'message')) yield text;
        data = [];
        size = 0;
        type = '';
        continue;
      }
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === 'event') type = value;
      if (field !== 'data') continue;
      data.push(value);
      size += line.length;
      if (size > MAX_MESSAGE_BYTES)
        throw new McpFailure('mcp_too_large', 'The server answered with more data than can be used.');
    }
  }
}
