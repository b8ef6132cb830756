import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { decodeToken } from '../../src/daemon/identity/decode-token.ts';
import { rsaPair } from '../unit/identity/make-token.ts';
import { closeAtEnd } from './close-at-end.ts';
import { freePort } from './free-ports.ts';

export const CLIENT = { client_id: 'agentd', client_secret: 'a-client-secret-of-the-tests' };
const REDIRECT = 'http://127.0.0.1:9/callback';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** A browser at the site: its cookies are its session there. */
export interface Visit {
  /** The ID token of the session, which the site hands to agentd as the user token. */
  token: string;
  /** Signs the person out in this browser. Resolves when the authorization server has told the daemon. */
  signOut(): Promise<void>;
}

/** An authorization server on loopback, where everybody may sign in without a password. */
export class Issuer {
  readonly #provider: Provider;
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: Error) => response.destroy(error));
  });
  readonly url: string;
  /** How each sign-out was received by the daemon. */
  readonly told: string[] = [];
  /** The subject tokens of all exchanges. */
  readonly exchanged: string[] = [];
  /** For whom exchanges are answered by mistake; null: for the person of the token. */
  mistaken: string | null = null;
  /** The sessions of the people who have signed out. */
  readonly #ended = new Set<string>();
  /** The people who sign in, one after the other. */
  readonly #people: string[] = [];

  private constructor(url: string, logoutUri: string, lifetime: number) {
    this.url = url;
    this.#provider = new Provider(url, configuration(logoutUri, lifetime));
    this.#provider.on('backchannel.success', () => void this.told.push('ok'));
    this.#provider.on('backchannel.error', (_ctx, error) => void this.told.push(error.message));
    this.#provider.registerGrantType(TOKEN_EXCHANGE, (ctx) => this.#exchange(ctx), [
      'subject_token',
      'subject_token_type',
    ]);
  }

  /**
   * @param logoutUri where sign-outs are reported
   * @param lifetime of a token, seconds
   */
  static async start(logoutUri: (issuer: string) => Promise<string>, lifetime = 3600): Promise<Issuer> {
    const url = `http://127.0.0.1:${await freePort()}`;
    const issuer = new Issuer(url, await logoutUri(url), lifetime);
    await issuer.open();
    closeAtEnd(() => issuer.close());
    return issuer;
  }

  /** Begins to listen, also again after `close`. */
  async open(): Promise<void> {
    this.#server.listen(Number(new URL(this.url).port), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Signs a person in, in a new browser. */
  async signIn(person: string): Promise<Visit> {
    this.#people.push(person);
    const cookies = new Map<string, string>();
    const query = new URLSearchParams({
      ...{ client_id: CLIENT.client_id, response_type: 'code', redirect_uri: REDIRECT },
      scope: 'openid email',
    });
    const end = await this.#browse(`/auth?${query}`, cookies);
    const code = new URL(end).searchParams.get('code') ?? '';
    const body = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
    const { id_token } = (await (await this.#asClient('/token', body)).json()) as { id_token: string };
    return {
      token: id_token,
      signOut: async () => {
        const before = this.told.length;
        this.#ended.add(String(decodeToken(id_token).payload?.sid));
        const asked = await this.#fetch(`/session/end?id_token_hint=${id_token}`, cookies);
        const xsrf = /name="xsrf" value="([^"]+)"/.exec(await asked.text())?.[1] ?? '';
        await this.#fetch('/session/end/confirm', cookies, { xsrf, logout: 'yes' });
        if (this.told.length === before) throw new Error('nobody was told of the sign-out');
      },
    };
  }

  /** Follows redirects within the server. @returns the first address elsewhere */
  async #browse(path: string, cookies: Map<string, string>): Promise<string> {
    for (let next = path; ; ) {
      const answer = await this.#fetch(next, cookies);
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`${next} answered ${answer.status}: ${await answer.text()}`);
      const url = new URL(location, this.url);
      if (url.origin !== this.url) return url.href;
      next = `${url.pathname}${url.search}`;
    }
  }

  async #fetch(path: string, cookies: Map<string, string>, form?: Record<string, string>): Promise<Response> {
    const answer = await fetch(`${this.url}${path}`, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  }

  #asClient(path: string, form: Record<string, string>): Promise<Response> {
    const authorization = `Basic ${btoa(`${CLIENT.client_id}:${CLIENT.client_secret}`)}`;
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith('/interaction/')) {
      await this.#provider.callback()(request, response);
      return;
    }
    const accountId = this.#people.at(-1) ?? '';
    const grant = new this.#provider.Grant({ accountId, clientId: CLIENT.client_id });
    grant.addOIDCScope('openid email');
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    await this.#provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  /** Exchanges an ID token for one that expires later (RFC 8693), while the session of its person lasts. */
  async #exchange(ctx: KoaContextWithOIDC): Promise<void> {
    const { client, params } = ctx.oidc;
    const sent = String(params?.subject_token);
    this.exchanged.push(sent);
    if (client === undefined) throw new Error('no client');
    const { payload } = await this.#provider.IdToken.validate(sent, client);
    const { sid } = payload as { sid: string };
    const sub = this.mistaken ?? (payload as { sub: string }).sub;
    const email = `${sub}@example.com`;
    if (this.#ended.has(sid)) throw new errors.InvalidGrant('the session has ended');
    const token = new this.#provider.IdToken({ email }, { ctx });
    Object.assign(token, { scope: 'openid email' });
    token.set('sub', sub);
    token.set('email', email);
    token.set('sid', sid);
    const access_token = await token.issue({ use: 'idtoken' });
    const issued_token_type = 'urn:ietf:params:oauth:token-type:id_token';
    ctx.body = { access_token, issued_token_type, token_type: 'N_A' };
  }
}

function configuration(logoutUri: string, lifetime: number): Configuration {
  const { privateKey } = rsaPair();
  return {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', TOKEN_EXCHANGE],
        backchannel_logout_uri: logoutUri,
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'k1' }] },
    claims: { openid: ['sub'], email: ['email'] },
    conformIdTokenClaims: false,
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => false },
    ttl: { IdToken: lifetime, Session: 3600, Grant: 3600, Interaction: 600, AccessToken: 600 },
    cookies: { keys: ['a key of the tests'] },
    // The default one refuses loopback addresses.
    fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined } as object),
  };
}
