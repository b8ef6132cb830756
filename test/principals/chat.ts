/** A reply on a platform, as people see it. */
export interface Delivered {
  to: string;
  thread: string | null;
  text: string;
  /** The payloads of its buttons. */
  buttons: readonly string[];
}

/** Everything that people have seen in a chat, in order. */
export type Chat = Delivered[];
