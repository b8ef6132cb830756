import { createHmac, randomBytes } from 'node:crypto';
import type { Secret } from '../settings/secret.ts';
import { CallBearers } from './call-bearers.ts';
import type { CallCredential } from './choose-credential.ts';
import type { ClientCall } from './client-call.ts';
import { DownstreamLines } from './downstream-lines.ts';
import { FetchClient } from './fetch-client.ts';
import { RequestClient } from './request-client.ts';
import type { Tool } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';
import type { ToolClient, ToolRequest } from './tool-client.ts';

/** A client, and a record of its requests. The policy relies on this record, not on what a source says. */
export interface OpenedClient {
  readonly client: ToolClient;
  /** Whether an answer may have been made with default credentials. */
  readonly usedDefault: boolean;
  /**
   * Whether a request that can change something may have been carried out. Requests of `fetch` are not considered: only
   * the source knows what they do.
   */
  readonly changed: boolean;
  /** Status of the last answer to `request`; null if there is none. */
  readonly status: number | null;
  /** Text for the agent about the last request without a usable answer; null if there was none. */
  readonly failure: string | null;
  /** Secrets that were sent with requests. They are masked in answers, which may echo them. */
  readonly secrets: readonly Secret[];
}

/** The key of the HMAC in `identity`. It is different in each process. */
const IDENTITY_KEY = randomBytes(32);

/** Opens the client of one call: see `ToolClient`. */
export function openToolClient(
  tool: Tool,
  credential: CallCredential,
  call: ClientCall,
  access: ToolAccess,
): OpenedClient {
  const bearers = new CallBearers(tool, credential, access, call.signal);
  const lines = new DownstreamLines(tool, call.trace, access.clock);
  const requests = new RequestClient(tool, credential, bearers, lines, call, access);
  const fetches = new FetchClient(tool, bearers, lines, call, access.observer);
  // A source gets only these members.
  const client: ToolClient = Object.freeze({
    request: (request: ToolRequest) => requests.request(request),
    fetch: (input: string | URL | Request, init?: RequestInit) => fetches.fetch(input, init),
    credentials: credential.use,
    // A getter, because the hash costs time and few sources need it.
    get identity() {
      return identityOf(credential);
    },
  });
  return new OpenedCall(client, bearers, requests);
}

/** A class, because an object literal with getters would cost several times as much to create. */
class OpenedCall implements OpenedClient {
  readonly client: ToolClient;
  readonly #bearers: CallBearers;
  readonly #requests: RequestClient;

  constructor(client: ToolClient, bearers: CallBearers, requests: RequestClient) {
    this.client = client;
    this.#bearers = bearers;
    this.#requests = requests;
  }

  get usedDefault() {
    return this.#bearers.usedDefault;
  }

  get changed() {
    return this.#requests.changed;
  }

  get status() {
    return this.#requests.status;
  }

  get failure() {
    return this.#requests.failure;
  }

  get secrets() {
    return this.#bearers.secrets;
  }
}

function identityOf(credential: CallCredential): string {
  if (credential.use === 'none' || credential.use === 'default') return credential.use;
  const named = createHmac('sha256', IDENTITY_KEY).update(credential.token.reveal()).digest('base64url');
  return `${credential.use}:${named}`;
}
