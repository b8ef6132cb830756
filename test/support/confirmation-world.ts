import webchat from '../../plugins/webchat/index.ts';
import type { AgentRuntime, AgentTurn } from '../../src/agent/index.ts';
import type {
  ClosedQuestion,
  Confirmation,
  ConfirmationAnswer,
  IncomingMessage,
  OutgoingReply,
  PressOutcome,
  Receipts,
} from '../../src/channel/index.ts';
import { edit, enqueue } from '../../src/daemon/inbox/enqueue.ts';
import { press } from '../../src/daemon/inbox/press.ts';
import { InboxWorker } from '../../src/daemon/inbox/work.ts';
import { converse } from '../../src/daemon/message/converse.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import type { StreamServices } from '../../src/daemon/stream/stream-services.ts';
import type { Texts } from '../../src/daemon/texts/texts.ts';
import { builtInSource } from '../../src/daemon/tools/describe-source.ts';
import { fixedSource } from '../../src/daemon/tools/registry.ts';
import type { Sent, Tool } from '../../src/daemon/tools/tool.ts';
import { TELEX } from './later-services.ts';
import { testServices } from './services.ts';
import { toolOf } from './tools.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A call that reached the API. */
export interface ReceivedCall {
  args: Readonly<Record<string, unknown>>;
  sub: string | null;
  key: string | null;
}

/** The response to a web client. */
export interface WebAnswer {
  response: string;
  session_id: string;
  confirmation: Confirmation | null;
  receipts: Receipts | null;
  replayed: boolean;
}

export interface WebMessage {
  token?: string | null;
  session?: string | null;
  user?: string;
  confirm?: ConfirmationAnswer;
  key?: string;
}

/**
 * The whole path of a message on the reference store and a virtual clock. The person must confirm calls of the tool
 * `cancel_order`. The agent follows instructions: "cancel 1004 because late" makes it call the tool.
 */
export class ConfirmationWorld {
  readonly clock: VirtualClock;
  readonly store: Store;
  readonly services: StreamServices;
  readonly worker: InboxWorker;
  /** Calls that reached the API. */
  readonly calls: ReceivedCall[] = [];
  /** Replies that the platform accepted. */
  readonly sent: OutgoingReply[] = [];
  /** Questions whose buttons were taken away, in order. */
  readonly closed: ClosedQuestion[] = [];
  /** The input of each run of the agent. */
  readonly turns: AgentTurn[] = [];
  /** The answer of the API to each call. */
  answer: () => Promise<Sent> = async () => ({ outcome: 'answered', status: 200, result: { ok: true } });
  /** Whether the agent fails. */
  fails = false;
  /** Replaces the behavior of the agent after a confirmation. */
  afterwards: ((turn: AgentTurn) => AsyncIterable<string>) | null = null;
  /** Replaces the behavior of the agent for messages that ask for no call. */
  otherwise: ((turn: AgentTurn) => AsyncIterable<string>) | null = null;
  /** Called for each reply to the platform. A test makes it throw if the platform should refuse the reply. */
  take: (reply: OutgoingReply) => void | Promise<void> = () => {};
  /** Called before the buttons of a question are taken away. A test makes it throw if the platform should refuse it. */
  close: (closed: ClosedQuestion) => void | Promise<void> = () => {};
  #messages = 0;

  private constructor(clock: VirtualClock, store: Store, services: StreamServices) {
    this.clock = clock;
    this.store = store;
    this.services = services;
    this.worker = new InboxWorker(services);
  }

  static async open(
    options: { texts?: Texts; tool?: Partial<Tool>; sealKey?: string; env?: Record<string, string> } = {},
  ): Promise<ConfirmationWorld> {
    const clock = new VirtualClock(Date.now());
    const store = openMemoryStore(new MemoryState(), { clock });
    const source = options.tool?.source ?? builtInSource(undefined);
    let world: ConfirmationWorld;
    const tool = toolOf({
      name: 'cancel_order',
      title: 'Cancel an order',
      summary: 'Cancel order {id}',
      parameters: {
        type: 'object',
        properties: { id: { type: 'string' }, reason: { type: 'string' } },
        required: ['id'],
        additionalProperties: false,
      },
      source,
      effect: 'write',
      confirm: 'always',
      send: async (args, { person, idempotency_key }) => {
        world.calls.push({ args, sub: person?.sub ?? null, key: idempotency_key });
        return world.answer();
      },
      ...options.tool,
    });
    const agent: AgentRuntime = { apiVersion: 1, run: (turn) => world.#run(turn) };
    const { services } = await testServices({
      store,
      clock,
      agent,
      tools: fixedSource(source, [tool]),
      ...(options.texts ? { texts: options.texts } : {}),
      sealKey: options.sealKey,
      // Most tests are about the words of the agent and of the question.
      env: { RECEIPTS: 'off', ...options.env },
    });
    world = new ConfirmationWorld(clock, store, services);
    world.addTo(world.worker);
    return world;
  }

  /** Sends a message as a web client. @returns the response @throws the problem */
  async say(text: string, message: WebMessage = {}): Promise<WebAnswer> {
    const { token, session = 'room', user = 'visitor', confirm, key } = message;
    const incoming: IncomingMessage = {
      platform: 'webchat',
      user_id: user,
      channel_id: user,
      thread_id: session,
      text,
      metadata: token === undefined ? {} : { jwt_token: token },
      ...(confirm === undefined ? {} : { confirm }),
      ...(key === undefined ? {} : { message_id: key }),
    };
    this.clock.moveTo(this.clock.now() + 1);
    const origin = { request_id: 'request', address: '192.0.2.1', validated: null, ticket: null };
    for await (const event of converse(webchat, this.services, incoming, origin)) {
      if (event.type !== 'complete') continue;
      const { response, session_id, confirmation = null, receipts = null, replayed } = event;
      return { response, session_id, confirmation, receipts, replayed };
    }
    throw new Error('no answer');
  }

  /**
   * Sends a message as a user of the platform. Resolves when everything is processed. @returns the replies that were
   * sent for it
   */
  async write(text: string, user = 'ada', members: Partial<IncomingMessage> = {}): Promise<string[]> {
    const before = this.sent.length;
    this.clock.moveTo(this.clock.now() + 1);
    await enqueue(TELEX, this.services, this.worker, [this.#platformMessage(text, user, members)]);
    await this.settle();
    return this.sent.slice(before).map((reply) => reply.text);
  }

  /** Presses a button as a user of the platform. */
  async press(
    confirm: ConfirmationAnswer,
    user = 'ada',
    members: Partial<IncomingMessage> = {},
  ): Promise<PressOutcome> {
    this.clock.moveTo(this.clock.now() + 1);
    const message = this.#platformMessage('', user, { confirm, ...members });
    const outcome = await press(TELEX, this.services, this.worker, message);
    await this.settle();
    return outcome;
  }

  /** Edits a message of the platform. @returns whether its text was replaced */
  edit(message_id: string, text: string, user = 'ada', thread_id = 'telex:room'): Promise<boolean> {
    return edit(TELEX, this.services, { message_id, user_id: user, thread_id, text });
  }

  /** Stores a message of the platform without processing it. */
  async post(text: string, user = 'ada', members: Partial<IncomingMessage> = {}): Promise<void> {
    await enqueue(TELEX, this.services, this.worker, [this.#platformMessage(text, user, members)]);
  }

  /** Lets a worker send to the platform. */
  addTo(worker: InboxWorker): void {
    worker.add(TELEX, {
      routes: [],
      send: async (reply) => {
        await this.#take(reply);
        if (reply.confirmation?.lead) worker.sentIds.note(reply.id, `lead-${this.sent.length}`);
        worker.sentIds.note(reply.id, `sent-${this.sent.length}`);
      },
      closeQuestion: async (closed) => {
        await this.close(closed);
        this.closed.push(closed);
      },
    });
  }

  /** Processes everything that is due. */
  async settle(): Promise<void> {
    await this.worker.start();
    await this.worker.idle();
    this.worker.pause();
  }

  /** The id of the question in the last reply to the platform. */
  get asked(): string {
    const { confirmation } = this.sent.at(-1) ?? {};
    if (!confirmation) throw new Error('the last reply has no question');
    return confirmation.id;
  }

  #platformMessage(text: string, user: string, members: Partial<IncomingMessage>): IncomingMessage {
    return {
      platform: TELEX.name,
      user_id: user,
      channel_id: 'room',
      thread_id: 'telex:room',
      text,
      metadata: {},
      message_id: `m${++this.#messages}`,
      shared: true,
      reply_to: { room: 'room' },
      ...members,
    };
  }

  async #take(reply: OutgoingReply): Promise<void> {
    await this.take(reply);
    this.sent.push(reply);
  }

  async *#run(turn: AgentTurn): AsyncGenerator<string> {
    this.turns.push(turn);
    // Each run takes time, so that a message that is sent during the run is earlier than its reply.
    this.clock.moveTo(this.clock.now() + 1);
    if (this.fails) throw new Error('broken');
    const answers = turn.confirmed_actions.map(({ answer }) => JSON.stringify(answer));
    if (answers.length > 0 && this.afterwards) yield* this.afterwards(turn);
    else if (answers.length > 0) yield `Result: ${answers.join(', ')}`;
    else if (turn.text.startsWith('cancel ')) yield* this.#cancel(turn);
    else if (this.otherwise) yield* this.otherwise(turn);
    else yield `You said: ${turn.text}`;
  }

  async *#cancel(turn: AgentTurn): AsyncGenerator<string> {
    const tool = turn.tools.find(({ name }) => name === 'cancel_order');
    if (!tool) throw new Error('there is no tool');
    for (const order of turn.text.slice('cancel '.length).split(' and ')) {
      const [id, reason] = order.split(' because ');
      const answer = await tool.call({ id, ...(reason === undefined ? {} : { reason }) });
      yield answer.ok ? 'I need your confirmation. ' : `${answer.message} `;
    }
  }
}
