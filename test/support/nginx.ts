import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa, execaSync } from 'execa';
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

/** nginx with the sample configuration, in front of a daemon. It uses TLS and the host name of the sample. */
export class Nginx {
  readonly #port: number;
  readonly #certificate: string;
  readonly #stop: () => Promise<void>;

  private constructor(port: number, certificate: string, stop: () => Promise<void>) {
    this.#port = port;
    this.#certificate = certificate;
    this.#stop = stop;
  }

  static async start(daemonUrl: string): Promise<Nginx> {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-nginx-'));
    const { certificate, key } = makeCertificate(directory);
    const port = await freePort();
    const sample = replaced(readFileSync(SAMPLE, 'utf8'), {
      '127.0.0.1:8080': new URL(daemonUrl).host,
      'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
      '/etc/ssl/chat.example.com.pem': certificate,
      '/etc/ssl/private/chat.example.com.key': key,
      '/var/log/nginx/agentd.log': join(directory, 'access.log'),
    });
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${join(directory, name)};`)
      .join('\n');
    // If root starts nginx, its workers run as a different user who cannot write into the directory.
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    const main = `${user} daemon off; worker_processes 1; pid ${join(directory, 'pid')};\nevents {}\nhttp {\n${temporary}\n${sample}\n}\n`;
    const file = join(directory, 'nginx.conf');
    writeFileSync(file, main);
    const child = execa('nginx', ['-e', join(directory, 'error.log'), '-c', file], {
      env: { PATH },
      stdio: 'ignore',
      reject: false,
    });
    let hasEnded = false;
    const end = async () => {
      await child;
      hasEnded = true;
    };
    const ended = end();
    const nginx = new Nginx(port, readFileSync(certificate, 'utf8'), async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(directory, { recursive: true, force: true });
    });
    for (;;) {
      if (hasEnded) {
        const log = join(directory, 'error.log');
        throw new Error(`nginx did not start: ${existsSync(log) ? readFileSync(log, 'utf8') : ''}`);
      }
      const up = await nginx.ask('/').catch(() => null);
      if (up !== null) return nginx;
      await delay(20);
    }
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

  close(): Promise<void> {
    return this.#stop();
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
