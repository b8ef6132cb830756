import { describe, expect, it } from 'vitest';
import { type AnswerListener, Conversation, readAnswer } from '../../../../src/cli/chat/conversation.ts';
import { ConnectionLost, type Outgoing } from '../../../../src/cli/chat/stream-client.ts';

const silent: AnswerListener = {
  started: () => undefined,
  text: () => undefined,
  tool: () => undefined,
  connected: () => undefined,
};

function interrupts() {
  const [stop, leave] = [new AbortController(), new AbortController()];
  return { stop, leave, signals: { stop: stop.signal, leave: leave.signal } };
}

const start = 'id: 1\nevent: stream_start\ndata: {"session_id":"generated"}\n\n';
const end = (members: object) =>
  `id: 2\nevent: complete\ndata: ${JSON.stringify({ session_id: 'generated', response: 'Hi', ...members })}\n\n`;

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('a conversation', () => {
  it('continues in the session that the first stream returned', async () => {
    const sent: Outgoing[] = [];
    const conversation = new Conversation({
      start: async (outgoing) => `stream ${sent.push(outgoing)}`,
      open: async () => pieces(start, end({})),
      stop: async () => undefined,
    });
    await conversation.send('one', silent, interrupts().signals);
    await conversation.send('two', silent, interrupts().signals);
    expect(sent.map(({ message, session_id }) => [message, session_id])).toEqual([
      ['one', null],
      ['two', 'generated'],
    ]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(2);
  });

  it('sends a message again unchanged if it was not delivered', async () => {
    const sent: Outgoing[] = [];
    const conversation = new Conversation({
      async start(outgoing) {
        if (sent.push(outgoing) < 2) throw new ConnectionLost('connect ECONNREFUSED');
        return 's';
      },
      open: async () => pieces(start, end({})),
      stop: async () => undefined,
    });
    expect((await conversation.send('one', silent, interrupts().signals)).response).toBe('Hi');
    expect(sent).toHaveLength(2);
    expect(sent[0]).toEqual(sent[1]);
  });

  it('asks the daemon to stop an answer, and reads the answer to its end', async () => {
    const { stop, signals } = interrupts();
    const stopped = Promise.withResolvers<void>();
    const conversation = new Conversation({
      start: async () => 's',
      async open() {
        async function* answer() {
          yield Buffer.from(start);
          stop.abort();
          await stopped.promise;
          yield Buffer.from(end({ stopped: true }));
        }
        return answer();
      },
      async stop(stream_id) {
        expect(stream_id).toBe('s');
        stopped.resolve();
      },
    });
    const answer = await conversation.send('one', silent, signals);
    expect(answer).toEqual({ session_id: 'generated', response: 'Hi', stopped: true });
  });

  it('does not wait for the rest of an answer that could not be stopped', async () => {
    const { stop, signals } = interrupts();
    const conversation = new Conversation({
      start: async () => 's',
      open: (_id, _after, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          stop.abort();
        }),
      stop: () => Promise.reject(new ConnectionLost('gone')),
    });
    expect((await conversation.send('one', silent, signals)).stopped).toBe(true);
  });

  it('returns an empty answer if the answer is stopped before the message is delivered', async () => {
    const { stop, signals } = interrupts();
    const conversation = new Conversation({
      start: (_outgoing, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          stop.abort();
        }),
      open: () => Promise.reject(new Error('not to be opened')),
      stop: () => Promise.reject(new Error('not to be stopped')),
    });
    expect(await conversation.send('one', silent, signals)).toEqual({
      session_id: '',
      response: '',
      stopped: true,
    });
  });

  it('ends at once if the person leaves', async () => {
    const { leave, signals } = interrupts();
    const conversation = new Conversation({
      start: async () => 's',
      open: (_id, _after, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          leave.abort();
        }),
      stop: async () => undefined,
    });
    await expect(conversation.send('one', silent, signals)).rejects.toThrow();
  });
});

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
  it.each([1, 7, 4096])('is reported as it arrives, in pieces of %i bytes', async (size) => {
    const { events, listener } = listening();
    const bytes = Buffer.from(EVENTS.join(''));
    async function* inPieces(): AsyncGenerator<Uint8Array> {
      for (let begin = 0; begin < bytes.length; begin += size) yield bytes.subarray(begin, begin + size);
    }
    const answer = await readAnswer(async () => inPieces(), listener, never, PATIENCE);
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
    const reading = readAnswer(open, listener, never, { patience_ms: 1000, waits_ms: [0, 1, 1, 1000] });
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

  it.each([
    ['line', 'x'.repeat(1_048_576)],
    ['event', `data: ${'x'.repeat(1_048_576)}\n`],
  ])('fails if a %s does not end', async (_what, piece) => {
    const { listener } = listening();
    const open = async () => pieces('id: 1\ndata: ', ...Array.from({ length: 10 }, () => piece));
    await expect(readAnswer(open, listener, never, PATIENCE)).rejects.toThrow('8388608 characters');
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
