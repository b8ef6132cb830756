import { describe, expect, it } from 'vitest';
import { readEvents } from '../../../../src/daemon/tools/mcp/response-body.ts';

async function* inPieces(...pieces: string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function dataOf(...pieces: string[]): Promise<string[]> {
  const all: string[] = [];
  for await (const data of readEvents(inPieces(...pieces))) all.push(data);
  return all;
}

describe('the events of a stream', () => {
  it('are read across pieces, with data of several lines', async () => {
    expect(await dataOf('data: a\nda', 'ta: b\r\n\r', '\ndata:c\n\n')).toEqual(['a\nb', 'c']);
  });

  it('without data are skipped, as an event with an id at the beginning of a stream', async () => {
    expect(await dataOf('id: 1\ndata:\n\n', 'id: 2\ndata: \n\n', 'id: 3\n\n', 'id: 4\ndata: a\n\n')).toEqual([
      'a',
    ]);
  });

  it('of other types are skipped, and so are comments', async () => {
    expect(await dataOf(': ping\n\n', 'event: other\ndata: x\n\n', 'event: message\ndata: a\n\n')).toEqual([
      'a',
    ]);
  });

  it('say how the stream can be resumed, unless the id cannot be sent in a header', async () => {
    const cursor = { id: null, retry_ms: null };
    const body = inPieces('id: 1\nretry: 50\ndata:\n\n', 'id: a b\nretry: soon\n\n');
    for await (const _ of readEvents(body, cursor));
    expect(cursor).toEqual({ id: '1', retry_ms: 50 });
  });
});
