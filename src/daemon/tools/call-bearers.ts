import type { Secret } from '../settings/secret.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
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

/** The bearer tokens for the requests of one call, and a record of those that were handed out. */
export class CallBearers {
  /** Whether default credentials were handed out. */
  usedDefault = false;
  /** Everything secret that the source knows: what its entry gives it, and the tokens that were handed out. */
  readonly secrets: Secret[];
  readonly #tool: Tool;
  readonly #credential: CallCredential;
  readonly #call: { signal: AbortSignal; trace: TraceWriter };
  readonly #access: ToolAccess;

  constructor(
    tool: Tool,
    credential: CallCredential,
    call: { signal: AbortSignal; trace: TraceWriter },
    access: ToolAccess,
  ) {
    this.#tool = tool;
    this.#credential = credential;
    this.#call = call;
    this.#access = access;
    this.secrets = [...tool.source.secrets];
  }

  /**
   * The bearer that the policy chose. Null if the person's token has ended: this is asked before each request, because a
   * call may make several, over a long time, and again after an exchange, which takes time, too.
   * @throws TokenFailure
   */
  async chosen(): Promise<Bearer | null> {
    if (await this.#hasEnded()) return null;
    const bearer = await this.#obtain();
    return bearer.use === 'exchange' && (await this.#hasEnded()) ? null : bearer;
  }

  async #hasEnded(): Promise<boolean> {
    const credential = this.#credential;
    if (credential.use !== 'user' && credential.use !== 'exchange') return false;
    const reason = await credential.whyEnded();
    if (reason === null) return false;
    noteFailure(this.#call.trace, reason, { credentials: credential.use, tool: this.#tool.name });
    return true;
  }

  async #obtain(): Promise<Bearer> {
    const credential = this.#credential;
    switch (credential.use) {
      case 'none':
        return { use: 'none', token: null, because: null };
      case 'default':
        return this.default(credential.because);
      case 'user':
        this.secrets.push(credential.token);
        return { use: 'user', token: credential.token, because: null };
      case 'exchange': {
        const { name, target } = this.#tool.source;
        if (!target?.exchange) throw new TypeError(`the source of ${this.#tool.name} has no exchange`);
        const { exchange } = this.#access;
        const token = await exchange.exchange(name, target.exchange, credential.token, this.#call.signal);
        this.secrets.push(token);
        return { use: 'exchange', token, because: null };
      }
    }
  }

  /**
   * The default credentials. They are sent only to the API; no policy can change that.
   * @throws TokenFailure
   */
  async default(because: string | null): Promise<Bearer> {
    if (!this.#tool.source.target?.is_api || !this.#access.defaultToken)
      throw new TypeError(`${this.#tool.name} must not use the default credentials`);
    const token = await this.#access.defaultToken.get(this.#call.signal);
    this.secrets.push(token);
    this.usedDefault = true;
    return { use: 'default', token, because };
  }

  /** Called after a 401 for a bearer token. @returns whether the next request gets a new token. */
  renew({ use, token }: Bearer): boolean {
    if (token === null || (use !== 'default' && use !== 'exchange')) return false;
    if (use === 'default') this.#access.defaultToken?.refused(token);
    else this.#access.exchange.refused(token);
    return true;
  }
}

/** Writes the trace line of a token that could not be used or obtained. */
export function noteFailure(
  trace: TraceWriter,
  reason: string,
  detail: NonNullable<TraceLine['detail']>,
): void {
  trace.note({ step: 'downstream', verdict: 'failed', reason, detail });
}
