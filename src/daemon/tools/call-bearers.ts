import type { Secret } from '../settings/secret.ts';
import type { CallCredential } from './choose-credential.ts';
import type { CredentialsUsed, Tool } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** A bearer token, and whose token it is. */
export interface Bearer {
  use: CredentialsUsed;
  token: Secret | null;
  /** Why the person's own token is not used; null if the policy asks for this token. */
  because: string | null;
}

/** The bearer tokens of one call: obtains them, and remembers which of them were used. */
export class CallBearers {
  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  readonly secrets: Secret[];
  #usedDefault = false;
  readonly #tool: Tool;
  readonly #credential: CallCredential;
  readonly #access: Pick<ToolAccess, 'defaultToken' | 'exchange'>;
  readonly #signal: AbortSignal;

  constructor(
    tool: Tool,
    credential: CallCredential,
    access: Pick<ToolAccess, 'defaultToken' | 'exchange'>,
    signal: AbortSignal,
  ) {
    this.#tool = tool;
    this.#credential = credential;
    this.#access = access;
    this.#signal = signal;
    this.secrets = Object.values(tool.source.target?.headers ?? {});
  }

  /** Whether default credentials were handed out, so that an answer may have been made with them. */
  get usedDefault(): boolean {
    return this.#usedDefault;
  }

  /**
   * The bearer that the policy chose.
   * @throws DefaultTokenFailure, TokenExchangeFailure
   */
  async chosen(): Promise<Bearer> {
    const credential = this.#credential;
    switch (credential.use) {
      case 'none':
        return { use: 'none', token: null, because: null };
      case 'default':
        return this.byDefault(credential.because);
      case 'user':
        this.secrets.push(credential.token);
        return { use: 'user', token: credential.token, because: null };
      case 'exchange': {
        const { name, target } = this.#tool.source;
        if (!target?.exchange) throw new TypeError(`the source of ${this.#tool.name} has no exchange`);
        const { exchange } = this.#access;
        const token = await exchange.exchange(name, target.exchange, credential.token, this.#signal);
        this.secrets.push(token);
        return { use: 'exchange', token, because: null };
      }
    }
  }

  /**
   * The default credentials. They are sent only to the API; no policy can change that.
   * @throws DefaultTokenFailure
   */
  async byDefault(because: string | null): Promise<Bearer> {
    if (!this.#tool.source.target?.is_api || !this.#access.defaultToken)
      throw new TypeError(`${this.#tool.name} must not use the default credentials`);
    const token = await this.#access.defaultToken.get(this.#signal);
    this.secrets.push(token);
    this.#usedDefault = true;
    return { use: 'default', token, because };
  }

  /**
   * Called after a 401 for a bearer token, so that the next request gets a new token. @returns false if no new token
   * can be obtained.
   */
  refused({ use, token }: Bearer): boolean {
    if (token === null || (use !== 'default' && use !== 'exchange')) return false;
    if (use === 'default') this.#access.defaultToken?.refused(token);
    else this.#access.exchange.refused(token);
    return true;
  }
}
