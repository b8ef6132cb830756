import type { Log } from '../../process/log.ts';
import { maskEchoed } from '../../settings/mask-secrets.ts';
import { maskTokens, Secret } from '../../settings/secret.ts';
import type { ServerDefinition, ToolDigest, ToolDigestStore } from '../../store/tool-digests.ts';
import { printable } from '../../texts/printable.ts';
import { type AlarmClock, every } from '../../time/clock.ts';
import { unknownArguments } from '../confirmation/confirm-policy.ts';
import { sendRenewing } from '../downstream/send-renewing.ts';
import type { TokenExchange } from '../downstream/token-exchange.ts';
import { type McpEntry, readPolicy, type ToolEntry } from '../source-entry.ts';
import {
  refuseToSend,
  type Sent,
  type SourceState,
  type Tool,
  type ToolCall,
  type ToolSource,
  type ToolSourceInfo,
} from '../tool.ts';
import { toolNames } from '../tool-names.ts';
import { type CalledTool, Connector, type McpConnection, type McpTool } from './connection.ts';
import { ConnectionPool } from './connection-pool.ts';
import { defineTool, toolParameters } from './define-tool.ts';
import { failureAdvice, McpFailure, McpStatus, sentFailure } from './failure.ts';
import { HttpTransport } from './http-transport.ts';
import { readResult } from './read-result.ts';
import { ServerLink } from './server-link.ts';
import { StdioTransport } from './stdio-transport.ts';

/** How often the daemon checks whether an administrator trusts a changed tool, ms. */
const LOOK_FOR_TRUST_MS = 2_000;
/** Maximum length of a server's text in the state of the source, in characters. */
const MAX_WORDS = 300;

export interface McpSourceParts {
  clock: AlarmClock;
  log: Log;
  digests: ToolDigestStore;
  exchange: Pick<TokenExchange, 'ownToken' | 'refused'>;
}

/** A tool that the entry lists. */
interface Configured {
  readonly name: string;
  /** The name that the server uses for the tool. */
  readonly own: string;
  readonly entry: ToolEntry;
  /** The server's current definition; null if there is no usable one. */
  definition: ServerDefinition | null;
  /** The tool as it is offered; null while it is not offered. */
  tool: Tool | null;
  /** Why the tool is not offered; empty if it is offered. */
  because: string;
  /** The digest of the changed definition that was logged last; null if none was logged. */
  withheld: string | null;
}

/** The tools of one MCP server (agentd-agent(7), "MCP"). */
export class McpSource implements ToolSource {
  readonly info: ToolSourceInfo;
  readonly #entry: McpEntry;
  readonly #parts: McpSourceParts;
  readonly #log: Log;
  #tools: readonly Configured[] = [];
  #list: readonly Tool[] = [];
  readonly #connector = new Connector();
  readonly #listingFetch: typeof globalThis.fetch;
  /** The token of this service with which the tools were listed last. */
  #listingToken: Secret | null = null;
  readonly #link: ServerLink;
  readonly #pool: ConnectionPool;
  #stopLooking: () => Promise<void> = () => Promise.resolve();

  constructor(entry: McpEntry, info: ToolSourceInfo, parts: McpSourceParts) {
    this.info = info;
    this.#entry = entry;
    this.#parts = parts;
    this.#log = parts.log.child({ source: entry.name });
    const { clock, exchange } = parts;
    this.#listingFetch = listingFetch(entry, info, {
      exchange,
      sent: (token) => {
        this.#listingToken = token;
      },
    });
    this.#link = new ServerLink({
      open: async ({ signal, toolsChanged }) => {
        const options = { clock, signal, toolsChanged };
        return (await this.#connector.open(() => this.#listingTransport(), options)).connection;
      },
      listed: (tools) => this.#listed(tools),
      clock,
      log: this.#log,
    });
    this.#pool = new ConnectionPool({ open: (fetch, signal) => this.#openFor(fetch, signal), clock });
  }

  async start(): Promise<void> {
    const names = toolNames(this.#entry);
    this.#tools = Object.entries(this.#entry.tools).map(([own, entry]) => ({
      name: names.get(own) ?? own,
      own,
      entry,
      definition: null,
      tool: null,
      because: 'the server has not listed it yet',
      withheld: null,
    }));
    this.#stopLooking = every(this.#parts.clock, LOOK_FOR_TRUST_MS, () => this.#lookForTrust());
    await this.#link.start();
  }

  /** Returns the same array until the tools change. */
  list(): readonly Tool[] {
    return this.#list;
  }

  state(): SourceState {
    const withheld = this.#tools
      .filter(({ tool }) => tool === null)
      .map(({ name, because }) => ({ name, because }));
    const { failure } = this.#link;
    const status = failure === null && withheld.length === 0 ? 'ok' : 'degraded';
    if (!(failure instanceof Error)) return { status, detail: null, withheld };
    return {
      status,
      detail: this.#describeFailure(failure),
      advice: failureAdvice(failure, this.#entry),
      withheld,
    };
  }

  /** The failure, with the words of the server if it answered. They might quote what was sent. */
  #describeFailure(failure: Error): string {
    if (!(failure instanceof McpFailure)) return failure.message;
    const ofListing = Object.values(this.#entry.headers).map((value) => new Secret(value));
    const sent = [...ofListing, ...this.info.secrets, this.#listingToken ?? []].flat();
    const shown = (said: string) =>
      printable(maskTokens(maskEchoed(said, sent)))
        .trim()
        .slice(0, MAX_WORDS)
        .toWellFormed();
    if (!(failure instanceof McpStatus)) return failure.inWords(shown);
    const words = shown(failure.body);
    return words === '' || words.startsWith('<') ? failure.message : `${failure.message} It said: ${words}`;
  }

  async stop(): Promise<void> {
    await this.#stopLooking();
    await Promise.all([this.#pool.close(), this.#link.stop()]);
  }

  #listingTransport(): HttpTransport | StdioTransport {
    const { server } = this.#entry;
    const { clock } = this.#parts;
    return 'url' in server
      ? new HttpTransport({ url: server.url, fetch: this.#listingFetch, clock, listens: true })
      : new StdioTransport({ ...server, clock, log: this.#log, secrets: this.info.secrets });
  }

  /**
   * Opens a connection that carries a credential. The tools are listed again, too, because the server may have been
   * replaced.
   */
  async #openFor(fetch: typeof globalThis.fetch, signal: AbortSignal) {
    const { server } = this.#entry;
    if (!('url' in server)) throw new TypeError('a program takes no credentials');
    const { clock } = this.#parts;
    const { connection, transport } = await this.#connector.open(
      () => new HttpTransport({ url: server.url, fetch, clock, listens: false }),
      { clock, signal },
    );
    this.#link.lookAgain();
    const carry = (next: typeof fetch) => {
      transport.fetch = next;
    };
    return { ...connection, carry };
  }

  async #listed(tools: readonly McpTool[]): Promise<void> {
    for (const configured of this.#tools) await this.#update(configured, tools);
  }

  /** Updates a tool according to the list that the server sent. */
  async #update(configured: Configured, tools: readonly McpTool[]): Promise<void> {
    const { own } = configured;
    const [listed, ...others] = tools.filter((tool) => tool.name === own);
    const definition = listed ? defineTool(listed) : { unusable: 'the server does not list it' };
    if (others.length > 0 || 'unusable' in definition) {
      configured.definition = null;
      const because = 'unusable' in definition ? definition.unusable : 'the server lists it more than once';
      this.#withhold(configured, because);
      return;
    }
    const isNews = configured.definition?.digest !== definition.digest;
    configured.definition = definition;
    if (isNews || configured.tool === null) await this.#settle(configured, definition);
  }

  /** Offers a tool if its definition is the trusted one, and withholds it otherwise. */
  async #settle(configured: Configured, definition: ServerDefinition): Promise<void> {
    const { name } = configured;
    let trusted: string;
    try {
      trusted = (await this.#record(name, definition)).trusted.digest;
    } catch (error) {
      this.#log.debug({ err: error, tool: name }, 'cannot check whether a tool is trusted');
      this.#set(configured, { because: 'the store cannot be reached' });
      return;
    }
    // The server may have changed the tool again during the check.
    if (configured.definition !== definition) return;
    if (trusted === definition.digest) {
      const made = this.#createTool(configured, definition);
      if ('because' in made) {
        this.#withhold(configured, made.because);
        return;
      }
      this.#set(configured, made);
      if (configured.withheld === definition.digest)
        this.#log.info({ tool: name }, 'a changed tool is now trusted');
      return;
    }
    const because = `its title, description or schema has changed; compare and accept it with \`agentd tools trust ${name}\``;
    this.#set(configured, { because });
    if (configured.withheld !== definition.digest)
      this.#log.warn(
        { tool: name, digest: definition.digest, trusted },
        'a tool of an MCP server has changed and is not offered until `agentd tools trust`',
      );
    configured.withheld = definition.digest;
  }

  /** The record of a tool in the store. Stores the definition if it is new. */
  async #record(name: string, { digest, ...rest }: ServerDefinition): Promise<ToolDigest> {
    const { digests } = this.#parts;
    const known = await digests.find(name);
    const isKnown =
      known?.trusted.digest === digest ? known.changed === null : known?.changed?.digest === digest;
    return known && isKnown ? known : digests.observe(name, this.#entry.name, { digest, ...rest });
  }

  /** Does not offer a tool that cannot be used, and logs the reason once. */
  #withhold(configured: Configured, because: string): void {
    if (configured.because !== because)
      this.#log.warn(
        { tool: configured.name, because },
        'a tool of an MCP server cannot be used, and is not offered',
      );
    this.#set(configured, { because });
  }

  #set(configured: Configured, now: Tool | { because: string }): void {
    const { tool } = configured;
    configured.tool = 'because' in now ? null : now;
    configured.because = 'because' in now ? now.because : '';
    if (tool !== configured.tool) this.#list = this.#tools.flatMap((one) => one.tool ?? []);
  }

  #createTool(configured: Configured, definition: ServerDefinition): Tool | { because: string } {
    const { name, entry } = configured;
    const made = toolParameters(definition.schema, entry.bind ?? {});
    if ('unusable' in made) return { because: made.unusable };
    const { title, description, digest } = definition;
    const { timeout_seconds } = this.#entry;
    const policy = readPolicy(this.#entry, entry, entry.effect ?? 'write', false);
    const [unknown] = unknownArguments({ ...policy, parameters: made.parameters });
    if (unknown !== undefined)
      return { because: `it has no argument \`${unknown}\`, which \`confirm\` of the entry names` };
    return {
      name,
      title,
      description: description === '' ? (title ?? name) : description,
      parameters: made.parameters,
      source: this.info,
      ...policy,
      digest,
      ...(timeout_seconds === undefined ? {} : { timeout_ms: timeout_seconds * 1000 }),
      send: (args, call) => this.#send({ configured, digest }, args, call),
    };
  }

  /** Checks whether an administrator trusts the changed tools. */
  async #lookForTrust(): Promise<void> {
    for (const configured of this.#tools) {
      const { tool, definition } = configured;
      if (tool === null && definition !== null) await this.#settle(configured, definition);
    }
  }

  async #send(
    { configured, digest }: { configured: Configured; digest: string },
    args: Readonly<Record<string, unknown>>,
    call: ToolCall,
  ): Promise<Sent> {
    const progress = { begun: false };
    const { credentials } = call.client;
    const asHeaders = configured.definition?.schema.includes('"x-mcp-header"') ?? false;
    const work = async (connection: McpConnection): Promise<Sent> => {
      // Checked only after the call has its connection, because the tools may have been listed again while the call
      // waited for that connection.
      if (!(await this.#link.isCurrent([call.signal, connection.ended])))
        return refuseToSend(
          'tool_changing',
          'The server has changed its tools, and has not described them yet.',
        );
      if (configured.tool === null || configured.definition?.digest !== digest)
        return refuseToSend('tool_withdrawn', 'The tool is no longer available.');
      progress.begun = true;
      try {
        return toSent(
          await connection.callTool(configured.own, args, {
            signal: call.signal,
            progressed: call.progressed,
            asHeaders,
          }),
        );
      } catch (error) {
        call.signal.throwIfAborted();
        const sent = sentFailure(error, { begun: true, credentials });
        // The server refused the call, but the connection works.
        if (sent?.outcome === 'answered') return sent;
        throw error;
      }
    };
    try {
      return await this.#onConnection(call, work).catch((error: unknown) => {
        if (!(error instanceof McpFailure) || error.reason !== 'mcp_session_gone') throw error;
        progress.begun = false;
        // The server may have been replaced.
        this.#link.noteChange();
        return this.#onConnection(call, work);
      });
    } catch (error) {
      call.signal.throwIfAborted();
      const sent = sentFailure(error, { begun: progress.begun, credentials });
      if (sent === null) throw error;
      call.log.warn({ tool: configured.name, err: error }, 'the call of an MCP server failed');
      return sent;
    }
  }

  /**
   * Does the work on a connection with the credential of the call. A call without one uses the connection for listing,
   * unless that carries a credential itself.
   */
  async #onConnection<T>(
    { client, signal }: ToolCall,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const isShared = client.credentials === 'none' && this.#entry.list_credentials === undefined;
    if (!isShared) return this.#pool.use(client, signal, work);
    return work(await this.#link.connection(signal));
  }
}

/** The outcome of a call that the server answered. */
function toSent({ result, needs }: CalledTool): Sent {
  // A call that failed can be repeated when the person has done what the server needs.
  if (result === null || (result.isError === true && needs.length > 0))
    return { outcome: 'input_required', needs };
  const answered = { outcome: 'answered', status: null, result: readResult(result) } as const;
  return {
    ...answered,
    ...(needs.length === 0 ? {} : { needs }),
    ...(result.isError === true ? { is_error: true } : {}),
  };
}

/**
 * A `fetch` for the connection on which the tools of a server are listed. It adds the fixed headers of the entry and the
 * listing credential, which is never that of a person. After a 401 to a token of this service, it repeats the request
 * once with a new token.
 */
function listingFetch(
  { name, headers: fixed, list_credentials }: McpEntry,
  { target }: ToolSourceInfo,
  {
    exchange,
    sent,
  }: { exchange: Pick<TokenExchange, 'ownToken' | 'refused'>; sent: (token: Secret) => void },
): typeof globalThis.fetch {
  const settings = list_credentials === 'exchange' ? (target?.exchange ?? null) : null;
  const send = (request: Request, token: string | null) => {
    const headers = new Headers(request.headers);
    for (const [header, value] of Object.entries(fixed)) headers.set(header, value);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    return fetch(new Request(request, { headers }));
  };
  return async (input, init) => {
    const request = new Request(input, init);
    if (settings === null) return send(request, null);
    const obtain = () => exchange.ownToken(name, settings, request.signal);
    const renew = (token: Secret) => {
      exchange.refused(token);
      return true;
    };
    const answered = await sendRenewing({ obtain, renew }, (token) => {
      sent(token);
      return send(request.clone(), token.reveal());
    });
    return answered?.answer ?? new Response(null, { status: 401 });
  };
}
