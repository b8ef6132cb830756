import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa, execaSync } from 'execa';
import { closeAtEnd } from './close-at-end.ts';
import { freePort } from './free-ports.ts';

const SAMPLE = resolve(import.meta.dirname, '../../config/nginx.conf');
/** nginx may be in a directory that is only in the PATH of root. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/** Whether tests are skipped because nginx is missing. Always false with CI=true, so that the tests fail there. */
export const withoutNginx =
  execaSync('sh', ['-c', 'command -v nginx'], { env: { PATH }, reject: false }).failed &&
  process.env.CI !== 'true';

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** nginx with the sample configuration, in front of a daemon. It is stopped at the end. It uses TLS and the host name of the sample. */
export class Nginx {
  /** Its address without TLS. */
  readonly plainUrl: string;
  readonly #port: number;
  readonly #certificate: string;

  private constructor(plainUrl: string, port: number, certificate: string) {
    this.plainUrl = plainUrl;
    this.#port = port;
    this.#certificate = certificate;
  }

  static async start(daemonUrl: string): Promise<Nginx> {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-nginx-'));
    const { certificate, key } = makeCertificate(directory);
    const [port, plain] = [await freePort(), `127.0.0.1:${await freePort()}`];
    const sample = replaced(readFileSync(SAMPLE, 'utf8'), {
      '127.0.0.1:8080': new URL(daemonUrl).host,
      'listen 80;': `listen ${plain};`,
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '/etc/ssl/chat.example.com.pem': certificate,
      '/etc/ssl/private/chat.example.com.key': key,
      '/var/log/nginx/agentd.log': join(directory, 'access.log'),
    });
    const { hasEnded } = startProgram(directory, sample);
    const nginx = new Nginx(`http://${plain}`, port, readFileSync(certificate, 'utf8'));
    await untilUp(hasEnded, directory, () => nginx.ask('/'));
    return nginx;
  }

  /** Resolves to the head of the answer, whose body must still be read. */
  async ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<IncomingMessage> {
    const asked = request({
      host: '127.0.0.1',
      port: this.#port,
      servername: 'chat.example.com',
      ca: this.#certificate,
      agent: false,
      method,
      path,
      headers: { Host: 'chat.example.com', ...headers },
    });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return response;
  }
}

/**
 * nginx without TLS that passes all paths below one path on to another server, with a path in `proxy_pass`: it decodes
 * and normalizes the path of each request. @returns its address, and a function that stops it
 */
export async function startNormalizingProxy(
  below: string,
  upstream: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-nginx-'));
  const port = await freePort();
  const site = `access_log off; server { listen 127.0.0.1:${port}; location ${below} { proxy_pass ${upstream}; } }`;
  const { stop, hasEnded } = startProgram(directory, site);
  const url = `http://127.0.0.1:${port}`;
  await untilUp(hasEnded, directory, () => fetch(url));
  return { url, close: stop };
}

interface Program {
  stop(): Promise<void>;
  hasEnded(): boolean;
}

/** Starts nginx with this configuration of `http`. Its files are in the directory, which `stop` removes. */
function startProgram(directory: string, http: string): Program {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, name)};`)
    .join('\n');
  // If root starts nginx, its workers run as a different user who cannot write into the directory.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const main = `${user} daemon off; worker_processes 1; pid ${join(directory, 'pid')};\nevents {}\nhttp {\n${temporary}\n${http}\n}\n`;
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, main);
  const child = execa('nginx', ['-e', join(directory, 'error.log'), '-c', file], {
    env: { PATH },
    stdio: 'ignore',
    reject: false,
  });
  let ended = false;
  const end = async () => {
    await child;
    ended = true;
  };
  const ending = end();
  const stop = async () => {
    child.kill('SIGTERM');
    await ending;
    await rm(directory, { recursive: true, force: true });
  };
  closeAtEnd(stop);
  return { hasEnded: () => ended, stop };
}

async function untilUp(
  hasEnded: () => boolean,
  directory: string,
  ask: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    if (hasEnded()) {
      const log = join(directory, 'error.log');
      throw new Error(`nginx did not start: ${existsSync(log) ? readFileSync(log, 'utf8') : ''}`);
    }
    const up = await ask().catch(() => null);
    if (up !== null) return;
    await delay(20);
  }
}

/** The whole body, as text. */
export async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return text;
}

function replaced(text: string, by: Readonly<Record<string, string>>): string {
  return Object.entries(by).reduce((so_far, [from, to]) => {
    if (!so_far.includes(from)) throw new Error(`the sample no longer contains ${from}`);
    return so_far.replaceAll(from, to);
  }, text);
}

function makeCertificate(directory: string): { certificate: string; key: string } {
  const certificate = join(directory, 'certificate.pem');
  const key = join(directory, 'key.pem');
  const names = ['-subj', '/CN=chat.example.com', '-addext', 'subjectAltName=DNS:chat.example.com'];
  const files = ['-keyout', key, '-out', certificate];
  execaSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, '-days', '2', ...names]);
  return { certificate, key };
}
