/** The routes with which a person connects chats (agentd-service(7), "POST /link/codes"). */
export class Codes {
  readonly #base: string;
  readonly #token: () => Promise<string | null>;

  /** @param token returns the token of the person; null if nobody is signed in */
  constructor(base: string, token: () => Promise<string | null>) {
    this.#base = base;
    this.#token = token;
  }

  /** Makes a code, which ends the earlier one. */
  make(): Promise<MadeCode> {
    return this.#ask('POST', '/link/codes');
  }

  find(id: string): Promise<CodeState> {
    return this.#ask('GET', `/link/codes/${id}`);
  }

  confirm(id: string): Promise<CodeState> {
    return this.#ask('POST', `/link/codes/${id}/confirm`);
  }

  end(id: string): Promise<null> {
    return this.#ask('DELETE', `/link/codes/${id}`);
  }

  links(): Promise<Links> {
    return this.#ask('GET', '/links');
  }

  endLink(id: string): Promise<null> {
    return this.#ask('DELETE', `/links/${id}`);
  }

  /** Rejects if the service refuses, or cannot be reached. */
  async #ask<Answer>(method: string, path: string): Promise<Answer> {
    const token = await this.#token();
    const response = await fetch(this.#base + path, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      credentials: 'omit',
      signal: AbortSignal.timeout(15_000),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
    return response.status === 204 ? (null as Answer) : ((await response.json()) as Answer);
  }
}

export interface MadeCode {
  id: string;
  code: string;
  /** ISO 8601 */
  expires_at?: string;
  channels: Readonly<Record<string, { url?: string }>>;
}

export interface CodeState {
  state: 'waiting' | 'claimed' | 'used' | 'declined' | 'expired';
  channel?: string;
  masked_id?: string;
  name?: string | null;
}

/** A chat as its person recognizes it. */
export type Chat = Pick<CodeState, 'channel' | 'masked_id' | 'name'>;

export type Link = Chat & { id: string };

export interface Links {
  links: readonly Link[];
  /** The channels to which a code can be sent. */
  channels: readonly string[];
  /** What people call the channels, by name. */
  titles: Readonly<Record<string, string>>;
}
