import { describe, expect, it } from 'vitest';
import { type AnswerListener, readAnswer } from '../../../../src/cli/chat/conversation.ts';
import { ConnectionLost } from '../../../../src/cli/chat/stream-client.ts';

const EVENTS = [
  'id: 1\nevent: stream_start\ndata: {"stream_id":"s","session_id":"t"}\n\n',
  'id: 2\nevent: text_chunk\ndata: {"text":"Héllo "}\n\n',
  'id: 3\nevent: tool_call\ndata: {"tool_name":"get_user","status":"started"}\n\n',
  'id: 4\nevent: text_chunk\ndata: {"text":"wörld"}\n\n',
  'id: 5\nevent: complete\ndata: {"session_id":"t","response":"Héllo wörld"}\n\n',
];
const ANSWER = { session_id: 't', response: 'Héllo wörld', stopped: false };
const PATIENCE = { patience_ms: 10_000, waits_ms: [0] };
const never = new AbortController().signal;

function listening() {
  const events: string[] = [];
  const listener: AnswerListener = {
    started: (session_id) => events.push(`session ${session_id}`),
    text: (piece) => events.push(piece),
    tool: (name, status) => events.push(`${name} ${status}`),
    connected: (yes) => events.push(yes ? 'connected' : 'lost'),
  };
  return { events, listener };
}

async function* stream(bytes: Uint8Array, lost = false): AsyncGenerator<Uint8Array> {
  yield bytes;
  if (lost) throw new ConnectionLost('cut');
}

describe('the answer from a stream', () => {
  it('is reported as it arrives', async () => {
    const { events, listener } = listening();
    const answer = await readAnswer(
      async () => stream(Buffer.from(EVENTS.join(''))),
      listener,
      never,
      PATIENCE,
    );
    expect(answer).toEqual(ANSWER);
    expect(events).toEqual(['connected', 'session t', 'Héllo ', 'get_user started', 'wörld']);
  });

  it.each([false, true])(
    'is complete and has no repetitions, wherever the connection breaks (with an error: %s)',
    async (error) => {
      const whole = Buffer.from(EVENTS.join(''));
      for (let cut = 0; cut < whole.length; cut++) {
        const { events, listener } = listening();
        const asked: number[] = [];
        const answer = await readAnswer(
          async (after) => {
            asked.push(after);
            // A daemon sends only the events after this id. Here, this event is repeated, too, and must be ignored.
            if (asked.length > 1) return stream(Buffer.from(EVENTS.slice(Math.max(0, after - 1)).join('')));
            return stream(whole.subarray(0, cut), error);
          },
          listener,
          never,
          PATIENCE,
        );
        expect(answer).toEqual(ANSWER);
        const pieces = events.filter((word) => word !== 'connected' && word !== 'lost');
        expect(pieces, `cut at ${cut}`).toEqual(['session t', 'Héllo ', 'get_user started', 'wörld']);
      }
    },
  );

  it('is requested again and again until the time is up', async () => {
    const { events, listener } = listening();
    let attempts = 0;
    const open = async () => {
      attempts++;
      throw new ConnectionLost('connect ECONNREFUSED');
    };
    const reading = readAnswer(open, listener, never, { patience_ms: 50, waits_ms: [0, 10] });
    await expect(reading).rejects.toMatchObject({
      exitCode: 69,
      message: 'cannot reach the daemon: connect ECONNREFUSED',
    });
    expect(attempts).toBeGreaterThan(2);
    expect(events).toContain('lost');
  });

  it('fails with a readable reason if the stream reports an error', async () => {
    const { listener } = listening();
    const error =
      'id: 2\nevent: error\ndata: {"code":"interrupted","message":"The answer was interrupted."}\n\n';
    const reading = readAnswer(async () => stream(Buffer.from(EVENTS[0] + error)), listener, never, PATIENCE);
    await expect(reading).rejects.toMatchObject({
      exitCode: 1,
      message: 'the daemon ended during the answer, and the rest of the answer is lost',
    });
  });

  it('fails if the stream has no more events, but the end of the answer has not arrived', async () => {
    const { listener } = listening();
    await expect(readAnswer(async () => null, listener, never, PATIENCE)).rejects.toMatchObject({
      exitCode: 1,
    });
  });

  it('does not contain events whose data is not an object', async () => {
    const { events, listener } = listening();
    const odd =
      'id: 1\nevent: text_chunk\ndata: {"text":\n\nid: 2\nevent: text_chunk\ndata: 7\n\nid: 3\nevent: later\ndata: {}\n\nid: 4\nevent: complete\ndata: {"response":1}\n\n';
    const answer = await readAnswer(async () => stream(Buffer.from(odd)), listener, never, PATIENCE);
    expect(answer).toEqual({ session_id: '', response: '', stopped: false });
    expect(events.join('')).toBe('connected');
  });

  it('ends at once if the person leaves', async () => {
    const { listener } = listening();
    const leave = new AbortController();
    const reading = readAnswer(
      async () => {
        leave.abort(new Error('left'));
        throw new ConnectionLost('gone');
      },
      listener,
      leave.signal,
      { patience_ms: 60_000, waits_ms: [30_000] },
    );
    await expect(reading).rejects.toThrow();
  });
});
