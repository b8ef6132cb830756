/**
 * A message from a user, as every channel builds it. Further members are dropped: other data of the channel belongs in
 * `metadata` or `reply_to`.
 */
export interface IncomingMessage {
  /** The channel's name. */
  platform: string;
  /** The sender's id on the channel, 1 to 256 characters. */
  user_id: string;
  /**
   * Another id of the sender, which the platform may later send as the `user_id` instead. The daemon then finds the
   * link of the first `user_id` through this alias. If a `user_id` arrives with a different `alias_id`, the link of
   * that `user_id` no longer belongs to the sender.
   */
  alias_id?: string;
  /** The room. On channels without rooms, the sender's id. */
  channel_id: string;
  /** The thread, used as the session id. If null, the daemon begins a session and generates an id. */
  thread_id: string | null;
  /**
   * Id of the sender's workspace or organization on the platform, as the platform has verified it. Agents may be chosen by
   * it. Absent if the platform has none, or names none.
   */
  workspace?: string;
  /** The text. After the daemon trims it, it must have 1 to 16,000 characters, or none if there is a `confirm`. */
  text: string;
  /**
   * Set if the sender pressed a button of a question (`ReplyConfirmation`, `Confirmation`). It is as untrusted as the
   * text, so the daemon compares sender, session and action.
   */
  confirm?: ConfirmationAnswer;
  /**
   * Language of the sender, as the platform or the browser sends it (BCP 47). The daemon writes its own texts in this
   * language. In replies, the language in the person's token has priority.
   */
  locale?: string;
  metadata: MessageMetadata;
  /**
   * Identifies the user's message, not the delivery. A repeated id is answered once. Web channels take it from the
   * header `Idempotency-Key`. If absent, duplicates are not recognized.
   */
  message_id?: string;
  /** When the message was sent, according to the platform, ms since the epoch. Default: now. */
  sent_at?: number;
  /** Whether other people can read this thread. */
  shared?: boolean;
  /** Whether the sender forwarded this message from another chat. A link code in it does not count. */
  forwarded?: boolean;
  /**
   * What `send` needs to address the answer. JSON that is stored with the message. A secret, for example an address that
   * takes answers without further proof, must be in the member `private`: it is sealed in the store, and no command
   * shows it. Ids of people must be outside of it, so that `agentd person erase` finds them.
   */
  reply_to?: JsonObject;
}

export interface MessageMetadata {
  /** The user token of the client. Null means "signed out". */
  jwt_token?: string | null;
  phone_number?: string;
  /** What the client claims about itself. The agent gets these claims marked as unverified. */
  page_url?: string;
  user_name?: string;
  user_agent?: string;
  /**
   * Other claims of the client, under its own keys, unverified, with tokens masked. At most 4 KiB of JSON; larger
   * claims are dropped, and the loss is logged. Agent runtimes get them as `claimed.other`. The daemon never puts them
   * into a prompt.
   */
  other?: Readonly<Record<string, unknown>>;
  /** Further members that the channel adds. */
  [key: string]: unknown;
}

/** A message that its sender has deleted on the platform, with its ids as they were enqueued. */
export interface DeletedMessage {
  message_id: string;
  /** The user who wrote the message. */
  user_id: string;
}

/** A message whose sender has edited it, with its ids as they were enqueued. */
export interface EditedMessage {
  message_id: string;
  /** The user who made the edit. */
  user_id: string;
  thread_id: string;
  /** The new text. */
  text: string;
}

/** The events of `converse`, in order. The last one is `complete`. */
export type ConversationEvent =
  | { type: 'started'; session_id: string }
  /** A piece of the reply. The pieces together are the reply. */
  | { type: 'text_chunk'; text: string }
  | {
      type: 'tool_call';
      tool_name: string;
      /** The name of the tool for people. Absent if it has none. */
      title?: string;
      status: ToolStatus;
      /** Whose credentials a call that has ended carried. Absent if it carried none. */
      credentials?: 'user' | 'default' | 'exchange';
      /** Set if the call was not made because the person must sign in first. */
      sign_in_needed?: true;
    }
  /** The whole reply. `replayed`: whether it is the stored answer to an earlier request with the same message id. */
  | {
      type: 'complete';
      session_id: string;
      response: string;
      replayed: boolean;
      /**
       * Names the message with its answer, for feedback and for `agentd explain`. A repeat gets the id of the first
       * answer. It differs from `IncomingMessage.message_id`. Absent if the answer is not known by an id.
       */
      message_id?: string;
      /** The reply ends with this question. */
      confirmation?: Confirmation;
      /** What the message did. Absent if it did nothing. */
      receipts?: Receipts;
    };

/** What the writes of a message did, from the journal of the daemon and not from the words of an agent. */
export interface Receipts {
  /** In the order in which they were started; at least one. */
  actions: readonly ActionReceipt[];
  /**
   * Where the lines about them begin in the reply. They end with the reply, or where its question begins. A client that
   * shows the actions itself leaves these lines out. Absent if the reply has no such lines (RECEIPTS=off).
   */
  begins_at?: number;
}

export interface ActionReceipt {
  action_id: string;
  /** Name of the tool. */
  tool: string;
  /** The tool's name for people, as plain text on one line. */
  title: string;
  /** What was done, with its arguments, as plain text on one line. If other people can read the reply, the title. */
  summary: string;
  /** `failed`: it was refused, or nothing was sent. `unknown`: it may have been carried out. */
  outcome: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer. Absent if there is none. */
  status?: number;
  /** When the outcome was recorded; for an unknown outcome, when it was sent, if it was never recorded. ISO 8601, UTC. */
  at: string;
}

/** A question of the daemon about actions that wait for the person. It can also be answered with words. */
export interface Confirmation {
  /** Id of the question. */
  id: string;
  /** The whole question as plain text, with every argument of the call. */
  summary: string;
  /** ISO 8601, UTC. */
  expires_at: string;
  /** Where the question begins in the reply. A client that shows the question itself shows only the text before it. */
  begins_at?: number;
  /** E-mail address of the person for whom it would be done. Absent if it is for no person. Show it as text. */
  as?: string;
  /** What the question asks about, in the order in which it would be carried out: 1 to 10 actions. */
  actions?: readonly ConfirmableAction[];
}

/** One action of a question. All texts are on one line, with nothing hidden in them. Show them as text, not as markup. */
export interface ConfirmableAction {
  /** 1, 2, 3, …; an answer may name it. */
  number: number;
  /** The action, with the arguments that its summary names. */
  title: string;
  /**
   * The other arguments. Texts are in quotes; other values are JSON.
   * `title`: what the schema calls the argument. Absent if it has no title of its own.
   */
  details: readonly { label: string; title?: string; value: string }[];
  /** The verb on the button that confirms this action alone, at most 20 characters. Absent: a general word. */
  confirm_label?: string;
}

/** The answer to the question with this id. */
export interface ConfirmationAnswer {
  /** 1 to 256 characters. */
  id: string;
  /** The numbers of the actions that are confirmed, 1 to 10, each once; the others are declined. `true`: all of them. */
  approve: boolean | readonly number[];
}

/** One event of an event stream. All readers in this process get the same object. */
export interface StreamEvent {
  /** 1, 2, 3, … within its stream. */
  readonly id: number;
  readonly event: StreamEventName;
  /** The payload, as JSON. */
  readonly data: string;
}

export type StreamEventName =
  | 'stream_start'
  | 'text_chunk'
  | 'tool_call'
  | 'confirmation'
  | 'actions'
  | 'complete'
  | 'stream_complete'
  | 'error';

export type ToolStatus = 'started' | 'completed' | 'failed';

/** A reply that a channel must send. */
export interface OutgoingReply {
  /** The same for every attempt, so that you can use it as the platform's idempotency key. */
  id: string;
  /** Null for texts of `scope.notify`, which belong to no session. */
  session_id: string | null;
  /** Markdown (CommonMark). The channel renders it for its platform and splits it at the platform's limit. */
  text: string;
  /** `reply_to` of the message that is answered. */
  reply_to: JsonObject;
  /**
   * The question at the end of `text`, for platforms with buttons. Without buttons, send `text`: people then answer
   * with words.
   */
  confirmation?: ReplyConfirmation;
}

/** A question at the end of a reply. Send `lead`, then `question` as one message with two buttons. */
export interface ReplyConfirmation {
  /** Id of the question, 22 characters of base64url. The payload of the buttons contains it (`ChannelScope.press`). */
  id: string;
  /** `text` before the question, CommonMark; empty if there is nothing before it. */
  lead: string;
  /**
   * CommonMark. It must not be shortened: if it is too long for buttons, send `text` without them. Only `text` says how
   * to answer in words.
   */
  question: string;
  /** Labels of the buttons, at most 20 characters each. */
  confirm: string;
  decline: string;
  /**
   * What `question` asks about: 1 to 10 actions. The button `confirm` confirms all of them. Absent if it asks whether to
   * connect the chat.
   */
  actions?: readonly ConfirmableAction[];
  /** What the question begins with if it has several actions. Plain text on one line, like the next two. */
  heading?: string;
  /** For whom it would be done. Absent if it is for no person. */
  as_line?: string;
  /** How to confirm only some of several actions. Show it beside the buttons. */
  part_line?: string;
}

/** A question that was answered, or that has ended. */
export interface ClosedQuestion {
  /** The id of the message with the question, as `sendPart` resolved to it for the last part of the reply. */
  sent_id: string;
  /** As in the reply. */
  reply_to: JsonObject;
  /** The question as it was sent. */
  confirmation: ReplyConfirmation;
  /** Who decided and when, and what became of it. Plain text on one line, at most 400 characters. */
  outcome: string;
  /** The time in `outcome`. Absent if it names none. */
  time?: NamedTime;
}

/** A time of day in a text, so that a platform can show it to each reader in their own time zone. */
export interface NamedTime {
  /** ms since the epoch */
  at: number;
  /** Where it begins in the text. */
  begins_at: number;
  /** As it stands there. */
  words: string;
}

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
