import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';

export const EXCHANGE_CLIENT = { client_id: 'agentd:1', client_secret: 'p@ss word/+' };

/** What a token endpoint expects. A member that is null must be absent. */
interface Expected {
  audience: string | null;
  subject_token_type: string;
  requested_token_type: string | null;
}

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';

/** What the endpoint expects that renews the tokens of links. */
export const RENEWAL: Expected = {
  ...{ audience: null, requested_token_type: null },
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
};

/** A token endpoint that exchanges tokens (RFC 8693), and refuses every request that is not exactly as expected. */
export class FakeAuthorizationServer extends LocalServer {
  /** The subject tokens of all requests, in order. */
  readonly exchanged: string[] = [];
  /** The problems of the refused requests. */
  readonly wrong: string[] = [];
  /** If set, this is the answer to every request. */
  instead: { status: number; body: string; headers?: Record<string, string> } | null = null;
  /** If set, an answer is sent only when this promise has resolved. */
  wait: Promise<void> | null = null;
  /** Members of the answer; by default, `access_token` is the issued token. */
  answer: Record<string, unknown> = { token_type: 'Bearer', expires_in: 600 };
  readonly #expected: Expected;

  private constructor(expected: Expected) {
    super();
    this.#expected = expected;
  }

  static start(audience = 'billing', expected: Partial<Expected> = {}): Promise<FakeAuthorizationServer> {
    const types = { subject_token_type: ACCESS_TOKEN, requested_token_type: ACCESS_TOKEN };
    return new FakeAuthorizationServer({ audience, ...types, ...expected }).listen();
  }

  override get url(): string {
    return `${this.origin}/token`;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    const problem = this.#problemOf(request, sent.toString());
    await this.wait;
    const send = (status: number, body: string, headers = {}) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    if (this.instead) return send(this.instead.status, this.instead.body, this.instead.headers);
    if (problem !== null) {
      this.wrong.push(problem);
      return send(400, JSON.stringify({ error: 'invalid_request', error_description: problem }));
    }
    const access_token = `exchanged-${this.exchanged.length}-for-${this.#expected.audience}`;
    send(200, JSON.stringify({ access_token, issued_token_type: ACCESS_TOKEN, ...this.answer }));
  }

  #problemOf({ method, url: path, headers }: IncomingMessage, text: string): string | null {
    const body = new URLSearchParams(text);
    const subject = body.get('subject_token') ?? '';
    this.exchanged.push(subject);
    const client = `${encodeURIComponent(EXCHANGE_CLIENT.client_id)}:${formEncoded(EXCHANGE_CLIENT.client_secret)}`;
    const expected: Record<string, [unknown, unknown]> = {
      method: [method, 'POST'],
      path: [path, '/token'],
      'content-type': [String(headers['content-type']).split(';')[0], 'application/x-www-form-urlencoded'],
      authorization: [headers.authorization, `Basic ${Buffer.from(client).toString('base64')}`],
      grant_type: [body.get('grant_type'), 'urn:ietf:params:oauth:grant-type:token-exchange'],
      ...Object.fromEntries(
        Object.entries(this.#expected).map(([name, value]) => [name, [body.get(name), value]] as const),
      ),
      parameters: [
        [...body.keys()].sort().join(),
        ['grant_type', 'subject_token', ...namesOf(this.#expected)].sort().join(),
      ],
    };
    const wrong = Object.entries(expected).filter(([, [came, right]]) => came !== right);
    if (subject === '') return 'subject_token is missing';
    return wrong.length === 0 ? null : wrong.map(([name, [came]]) => `${name}: ${String(came)}`).join('; ');
  }
}

/** The parameters that must be present. */
function namesOf(expected: Expected): string[] {
  return Object.entries(expected).flatMap(([name, value]) => (value === null ? [] : [name]));
}

/** The text, encoded as in a form (RFC 6749, appendix B). */
function formEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll('%20', '+');
}
