import { chmodSync, chownSync, existsSync, globSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { execa, execaSync } from 'execa';
import { Client } from 'pg';
import { closeAtEnd } from './close-at-end.ts';
import { freePort } from './free-ports.ts';

/** The folders in which the programs of the server are searched for: Debian's folders, and PATH for other systems. */
const FOLDERS = [...globSync('/usr/lib/postgresql/*/bin').toReversed(), process.env.PATH ?? ''];
const PATH = FOLDERS.join(delimiter);

/** Whether tests are skipped because Postgres is missing. Always false with CI=true, so that the tests fail there. */
export const withoutPostgres = isMissing() && process.env.CI !== 'true';

function isMissing(): boolean {
  const { failed } = execaSync('sh', ['-c', 'command -v initdb && command -v postgres'], {
    env: { PATH: `${PATH}${delimiter}/bin${delimiter}/usr/bin` },
    reject: false,
  });
  if (failed) console.error('SKIPPED: tests of Postgres: initdb and postgres are not installed');
  return failed;
}

/** Settings that make the server faster: no test data needs to survive a crash. */
const NOT_DURABLE = ['fsync', 'synchronous_commit', 'full_page_writes'].flatMap((name) => [
  '-c',
  `${name}=off`,
]);

/** A Postgres server that a test starts, on a loopback port and a socket. It is stopped at the end. */
export class Postgres {
  readonly port: number;
  readonly #directory: string;
  readonly #tls: boolean;
  readonly #isDurable: boolean;
  readonly #options: readonly string[];
  readonly #user: { uid?: number; gid?: number };
  #server: { kill(signal: NodeJS.Signals): boolean; ended: Promise<unknown> } | null = null;
  #databases = 0;
  #schemas = 0;

  private constructor(
    directory: string,
    port: number,
    { tls, durable, options }: { tls: boolean; durable: boolean; options: readonly string[] },
  ) {
    this.#directory = directory;
    this.#user = unprivileged();
    this.port = port;
    this.#tls = tls;
    this.#isDurable = durable;
    this.#options = options;
  }

  /**
   * @param tls whether the server uses TLS; `certificate` is its certificate
   * @param durable whether data survives a crash of the server
   * @param options more settings of the server, as `name=value`
   */
  static async start({
    tls = false,
    durable = false,
    options = [] as readonly string[],
  } = {}): Promise<Postgres> {
    // The directory is not in the temporary directory of this run, because the server may run as another user, who
    // cannot enter it.
    const directory = mkdtempSync('/tmp/agentd-postgres-');
    const server = new Postgres(directory, await freePort(), { tls, durable, options });
    await server.#initialize();
    closeAtEnd(() => server.stop());
    await server.resume();
    return server;
  }

  /** The directory with the files of the databases. */
  get data(): string {
    return join(this.#directory, 'data');
  }

  get certificate(): string {
    return join(this.#directory, 'server.crt');
  }

  /** Creates a new, empty database. @returns the value for DATABASE_URL */
  async createDatabase(): Promise<string> {
    const name = `agentd_${++this.#databases}`;
    await this.#sql(`CREATE DATABASE ${name}`, 'postgres');
    return `postgres://postgres@127.0.0.1:${this.port}/${name}`;
  }

  /**
   * Creates an empty schema, in which everything of this URL is stored. It costs a hundredth of a database.
   * @param url the value for DATABASE_URL of the database
   */
  async createSchema(url: string): Promise<string> {
    const name = `s${++this.#schemas}`;
    await run(url, `CREATE SCHEMA ${name}`);
    return `${url}?options=${encodeURIComponent(`-c search_path=${name}`)}`;
  }

  /** Deletes everything that a store has written. This costs a fifth of a new schema. */
  async empty(url: string): Promise<void> {
    await run(url, 'DELETE FROM agentd_documents; DELETE FROM agentd_records');
  }

  /** The output of one statement, without headings. */
  async sql(statement: string, url: string): Promise<string> {
    return this.#sql(statement, new URL(url).pathname.slice(1));
  }

  /** Stops the server, but keeps its data. */
  async pause(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.kill('SIGINT');
    await server?.ended;
  }

  /** Ends the server at once, as if it had crashed. Its data is what is on disk. */
  async crash(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    server?.kill('SIGQUIT');
    await server?.ended;
  }

  async resume(): Promise<void> {
    const tls = this.#tls ? ['-c', 'ssl=on'] : [];
    const args = ['-D', join(this.#directory, 'data'), '-k', this.#directory, '-p', String(this.port)];
    const place = ['-c', 'listen_addresses=127.0.0.1', '-c', 'shared_buffers=16MB'];
    const options = [
      ...place,
      ...(this.#isDurable ? [] : NOT_DURABLE),
      ...tls,
      ...this.#options.flatMap((option) => ['-c', option]),
    ];
    const child = execa('postgres', [...args, ...options], {
      ...this.#user,
      env: { PATH },
      cwd: this.#directory,
      reject: false,
      buffer: false,
      forceKillAfterDelay: false,
    });
    this.#server = { kill: (signal) => child.kill(signal), ended: child };
    await this.#answers();
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #initialize(): Promise<void> {
    chmodSync(this.#directory, 0o700);
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(this.#directory, uid, gid);
    const data = join(this.#directory, 'data');
    // `initdb` takes longer than everything else, so it runs once, and later servers of the run get a copy.
    const made = join(tmpdir(), 'postgres-data');
    if (existsSync(made)) await execa('cp', ['-a', made, data]);
    else {
      const options = ['-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'];
      await execa('initdb', ['-D', data, ...options], { ...this.#user, env: { PATH }, cwd: this.#directory });
      const copy = `${made}-${this.port}`;
      await execa('cp', ['-a', data, copy]);
      // If another worker was faster, its copy stays.
      if (!existsSync(made)) await execa('mv', ['-T', '-n', copy, made]);
    }
    if (!this.#tls) return;
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const files = ['-keyout', join(data, 'server.key'), '-out', join(data, 'server.crt')];
    const openssl = ['req', '-x509', ...curve, '-nodes', '-days', '2', ...subject, ...files];
    await execa('openssl', openssl, { ...this.#user, env: { PATH }, cwd: this.#directory });
    await execa('cp', [join(data, 'server.crt'), this.certificate], { ...this.#user, cwd: this.#directory });
    chmodSync(this.#directory, 0o711);
  }

  async #answers(): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const { failed } = await execa('pg_isready', ['-q', '-h', this.#directory, '-p', String(this.port)], {
        env: { PATH },
        reject: false,
      });
      if (!failed) return;
      await delay(25);
    }
    throw new Error('the Postgres server of the tests does not answer');
  }

  async #sql(statement: string, database: string): Promise<string> {
    const place = ['-h', this.#directory, '-p', String(this.port), '-U', 'postgres', '-d', database];
    const { stdout } = await execa('psql', ['-qtA', ...place, '-c', statement], { env: { PATH } });
    return stdout;
  }
}

async function run(url: string, statements: string): Promise<void> {
  // Much less than a test may take: a lock that a failed test has left must not make each later one hang.
  const client = new Client({ connectionString: url, query_timeout: 20_000 });
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}

/** The user for the server if the tests run as root, because Postgres refuses to run as root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => execaSync('id', [flag, 'nobody']).stdout;
  return { uid: Number(id('-u')), gid: Number(id('-g')) };
}
