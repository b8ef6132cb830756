import { describe, expect, it } from 'vitest';
import { type AnswerListener, Conversation } from '../../../../src/cli/chat/conversation.ts';
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
