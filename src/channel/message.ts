/** The incoming message, as every channel builds it. */
export interface IncomingMessage {
  /** Name of the channel that it came by. */
  platform: string;
  /** The channel's id of the sender, 1 to 256 characters. */
  user_id: string;
  /**
   * Another id of the sender, which the platform may later send alone, as `user_id`: it then finds the link
   * of the `user_id` that it came with. Where another one comes with a `user_id`, that link is no longer
   * the sender's.
   */
  alias_id?: string;
  /** Where in the channel it was said; on channels without rooms, the sender's id. */
  channel_id: string;
  /** Conversation thread, used as the session id; null asks the daemon to begin a session and name it. */
  thread_id: string | null;
  /** What was said, trimmed, 1 to 16,000 characters. */
  text: string;
  metadata: MessageMetadata;
  /**
   * What identifies the user's message (not the delivery): a repeat with the same id is answered once.
   * In-request channels take it from the header `Idempotency-Key`. Absent: no duplicate check.
   */
  message_id?: string;
  /** When the platform says that it was sent, ms since the epoch. Absent: now. */
  sent_at?: number;
  /** Others read along in this thread. */
  shared?: boolean;
  /** Whatever `send` needs to find the place to answer; JSON, kept with the message, never a secret. */
  reply_to?: JsonObject;
}

export interface MessageMetadata {
  /** The user's token as the client sent it; null says "signed out"; absent says nothing. */
  jwt_token?: string | null;
  phone_number?: string;
  /** The client's own claims about itself, told to the agent as unverified. */
  page_url?: string;
  user_name?: string;
  user_agent?: string;
  /**
   * What else the client claims, under names of its own; at most 4 KiB of JSON (more is left out, which is logged).
   * Masked and unverified. It reaches agent runtimes as `claimed.other`, and no prompt of the daemon.
   */
  other?: Readonly<Record<string, unknown>>;
  /** What a channel adds itself. */
  [key: string]: unknown;
}

/** What `converse` tells while a message is being answered, in order; the last one is `complete`. */
export type ConversationEvent =
  | { type: 'started'; session_id: string }
  /** A piece of the reply; the pieces joined are the reply. */
  | { type: 'text_chunk'; text: string }
  | { type: 'tool_call'; tool_name: string; status: ToolStatus }
  /** The whole reply. `replayed`: it is the stored answer to an earlier request with the same message id. */
  | { type: 'complete'; session_id: string; response: string; replayed: boolean };

/**
 * One event of an answer on an event stream. The same object for all who
 * read the stream in this process.
 */
export interface StreamEvent {
  /** 1, 2, 3, … within its stream. */
  readonly id: number;
  readonly event: 'stream_start' | 'text_chunk' | 'tool_call' | 'complete' | 'stream_complete' | 'error';
  /** The payload, as JSON. */
  readonly data: string;
}

export type ToolStatus = 'started' | 'completed' | 'failed';

/** A reply on its way to a platform. */
export interface OutgoingReply {
  /** Stays the same when sending is tried again, so that a platform with idempotent sending can use it. */
  id: string;
  /** Null for what `scope.notify` was given: it belongs to no session. */
  session_id: string | null;
  /** Markdown (CommonMark); the channel renders it for its platform and splits it at its limit. */
  text: string;
  /** The `reply_to` of the message that is answered. */
  reply_to: JsonObject;
}

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
