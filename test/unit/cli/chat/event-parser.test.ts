import { describe, expect, it } from 'vitest';
import { EventParser, type ServerEvent } from '../../../../src/cli/chat/conversation.ts';

/** The events of a stream that arrives in these pieces. */
function parse(...pieces: (string | Uint8Array)[]): ServerEvent[] {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(typeof piece === 'string' ? Buffer.from(piece) : piece));
}

describe('the parser of event streams', () => {
  const stream = Buffer.from(
    '\u{feff}retry: 1000\r\n\r\nid: 1\nevent: stream_start\ndata: {"ä":"€🙂"}\n\n: still here\n\nid: 2\r\nevent: text_chunk\r\ndata: one\r\ndata:two\r\n\r\nid: 3\rdata\rdata: x\r\r',
  );
  const events = [
    { id: '1', event: 'stream_start', data: '{"ä":"€🙂"}' },
    { id: '2', event: 'text_chunk', data: 'one\ntwo' },
    { id: '3', event: 'message', data: '\nx' },
  ];

  it('reads all kinds of line ends, comments and a byte order mark', () => {
    expect(parse(stream)).toEqual(events);
  });

  it('returns the same events, wherever the chunks begin', () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      expect(parse(stream.subarray(0, cut), stream.subarray(cut)), `cut at ${cut}`).toEqual(events);
    }
    expect(parse(...[...stream].map((byte) => Uint8Array.of(byte)))).toEqual(events);
  });

  it('returns an event as soon as it is complete, and not before', () => {
    const parser = new EventParser();
    expect(parser.push(Buffer.from('id: 7\ndata: x\n'))).toEqual([]);
    expect(parser.push(Buffer.from('\n'))).toEqual([{ id: '7', event: 'message', data: 'x' }]);
  });

  it('keeps only the id from one event to the next', () => {
    expect(parse('id: 4\nevent: a\ndata: x\n\ndata: y\n\n')[1]).toEqual({
      id: '4',
      event: 'message',
      data: 'y',
    });
  });

  it('ignores an event without data, and an id with a NUL character', () => {
    expect(parse('id: 1\nevent: a\n\nid: 2\0\ndata: x\n\n')).toEqual([
      { id: '1', event: 'message', data: 'x' },
    ]);
  });

  it('ignores unknown fields', () => {
    expect(parse('colour: red\nDATA: y\ndata: x\n\n')).toEqual([{ id: '', event: 'message', data: 'x' }]);
  });

  it.each([
    ['line', 'x'.repeat(1_048_576)],
    ['event', `data: ${'x'.repeat(1_048_576)}\n`],
  ])('fails if a %s does not end', (_what, piece) => {
    const parser = new EventParser();
    parser.push(Buffer.from('data: '));
    expect(() => {
      for (let count = 0; count < 10; count++) parser.push(Buffer.from(piece));
    }).toThrow('an event has more than 8388608 characters');
  });
});
