import { describe, expect, it } from 'vitest';
import { type AnswerListener, readAnswer } from '../../../../src/cli/chat/read-answer.ts';
import { ConnectionLost } from '../../../../src/cli/chat/service.ts';

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
  const told: string[] = [];
  const listener: AnswerListener = {
    started: (session_id) => told.push(`session ${session_id}`),
    text: (piece) => told.push(piece),
    tool: (name, status) => told.push(`${name} ${status}`),
    connected: (yes) => told.push(yes ? 'connected' : 'lost'),
  };
  return { told, listener };
}

async function* pieces(bytes: Uint8Array, lost = false): AsyncGenerator<Uint8Array> {
  yield bytes;
  if (lost) throw new ConnectionLost('cut');
}

describe('an answer', () => {
  it('is told as it comes', async () => {
    const { told, listener } = listening();
    const answer = await readAnswer(
      async () => pieces(Buffer.from(EVENTS.join(''))),
      listener,
      never,
      PATIENCE,
    );
    expect(answer).toEqual(ANSWER);
    expect(told).toEqual(['connected', 'session t', 'Héllo ', 'get_user started', 'wörld']);
  });

  it.each([false, true])(
    'loses nothing and doubles nothing wherever it is cut (with an error: %s)',
    async (error) => {
      const whole = Buffer.from(EVENTS.join(''));
      for (let cut = 0; cut < whole.length; cut++) {
        const { told, listener } = listening();
        const asked: number[] = [];
        const answer = await readAnswer(
          async (after) => {
            asked.push(after);
            // A daemon sends the events after the one that it is told; one event again does no harm.
            if (asked.length > 1) return pieces(Buffer.from(EVENTS.slice(Math.max(0, after - 1)).join('')));
            return pieces(whole.subarray(0, cut), error);
          },
          listener,
          never,
          PATIENCE,
        );
        expect(answer).toEqual(ANSWER);
        const said = told.filter((word) => word !== 'connected' && word !== 'lost');
        expect(said, `cut at ${cut}`).toEqual(['session t', 'Héllo ', 'get_user started', 'wörld']);
      }
    },
  );

  it('is asked for again where nobody answers, until the patience is over', async () => {
    const { told, listener } = listening();
    let attempts = 0;
    const open = async () => {
      attempts++;
      throw new ConnectionLost('connect ECONNREFUSED');
    };
    const reading = readAnswer(open, listener, never, { patience_ms: 50, waits_ms: [0, 10] });
    await expect(reading).rejects.toMatchObject({
      exitCode: 69,
      message: 'the daemon is out of reach: connect ECONNREFUSED',
    });
    expect(attempts).toBeGreaterThan(2);
    expect(told).toContain('lost');
  });

  it('that failed is told in words', async () => {
    const { listener } = listening();
    const error =
      'id: 2\nevent: error\ndata: {"code":"interrupted","message":"The answer was interrupted."}\n\n';
    const reading = readAnswer(async () => pieces(Buffer.from(EVENTS[0] + error)), listener, never, PATIENCE);
    await expect(reading).rejects.toMatchObject({
      exitCode: 1,
      message: 'the daemon ended while it answered, and the rest of the answer is lost',
    });
  });

  it('without an end, of which nothing is left, is not waited for', async () => {
    const { listener } = listening();
    await expect(readAnswer(async () => null, listener, never, PATIENCE)).rejects.toMatchObject({
      exitCode: 1,
    });
  });

  it('makes nothing of data that is no object', async () => {
    const { told, listener } = listening();
    const odd =
      'id: 1\nevent: text_chunk\ndata: {"text":\n\nid: 2\nevent: text_chunk\ndata: 7\n\nid: 3\nevent: later\ndata: {}\n\nid: 4\nevent: complete\ndata: {"response":1}\n\n';
    const answer = await readAnswer(async () => pieces(Buffer.from(odd)), listener, never, PATIENCE);
    expect(answer).toEqual({ session_id: '', response: '', stopped: false });
    expect(told.join('')).toBe('connected');
  });

  it('is not waited for where the person leaves', async () => {
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
