/** The body of a request in the form in which it is sent, if it is not JSON. */
export interface EncodedBody {
  readonly content_type: string;
  readonly content: string | Uint8Array;
  /** The same for people who look at the request (`agentd tools call`). */
  readonly shown: unknown;
}
