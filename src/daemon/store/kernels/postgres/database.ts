import { createRequire } from 'node:module';
import { DatabaseError, Pool, type PoolClient, type QueryConfig, type QueryResultRow } from 'pg';
import { StoreUnavailable } from '../../../errors.ts';
import type { Log } from '../../../process/log.ts';

/** How long a query waits for a connection, ms. */
const CONNECT_MS = 2_000;
/** How long a statement of a migration may take, ms. It may have to wait for the migration of another daemon. */
const MIGRATION_MS = 60_000;
/** How long a statement of maintenance waits for a lock, ms. */
const LOCK_MS = 5_000;
/** How long an unused connection is kept open, ms. */
const IDLE_MS = 30_000;

/**
 * SQLSTATE classes that mean a defect of the program: data and constraints. All other errors come from the environment,
 * also those of class 42: the statements never change, so that somebody else has changed the schema or the rights.
 */
const DEFECT = /^2[23]/;

// `pg` loads this package only when a server asks for a password that DATABASE_URL does not have. An upgrade may have
// replaced its files until then.
const ofThis = createRequire(import.meta.url);
createRequire(ofThis.resolve('pg'))('pgpass');
/**
 * What a new connection needs, whatever the defaults of the server are: checks that see what was committed while they
 * waited for a lock, and commits that are on disk when they are acknowledged.
 */
const PREPARATION = `SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

interface PoolLimits {
  /** Maximum number of connections. */
  max: number;
  /** How long a query may take, ms. After that, its connection is closed. */
  query_ms: number;
}

/** The operations within a transaction. */
export interface Transaction {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A Postgres database: a pool of connections of limited size. Every wait has a time limit. */
export class Database {
  /** Host and name of the database, for people. */
  readonly description: string;
  readonly #pool: Pool;
  readonly #query_ms: number;

  /** @param url `postgres://user:password@host/name?sslmode=…`. The URL determines whether TLS is used. */
  constructor(url: string, log: Pick<Log, 'debug'>, { max, query_ms }: PoolLimits) {
    this.description = describe(url);
    this.#query_ms = query_ms;
    this.#pool = new Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: query_ms,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      // Idle connections must not keep a command from ending.
      allowExitOnIdle: true,
      application_name: 'agentd',
      onConnect: async (client) => {
        await client.query(PREPARATION);
      },
    });
    // If the server closes an idle connection, the next query opens a new one.
    this.#pool.on('error', (err) => log.debug({ err }, 'an idle connection to Postgres was closed'));
  }

  /** @throws StoreUnavailable if the database cannot be reached or does not answer in time. */
  async query<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    try {
      const { rows } = await this.#pool.query<Row>(text, [...values]);
      return rows;
    } catch (error) {
      throw asStoreFailure(error);
    }
  }

  /** Runs the work in one transaction, which is rolled back if the work throws. @throws the same errors as `query`. */
  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    query_timeout = this.#query_ms,
  ): Promise<T> {
    let client: PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      const connection = client;
      await connection.query('BEGIN');
      const result = await work({
        async query<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []) {
          const config = { text, values: [...values], query_timeout };
          return (await connection.query<Row>(config)).rows;
        },
      });
      await connection.query('COMMIT');
      connection.release();
      return result;
    } catch (error) {
      // The server rolls back the transaction when its connection is closed.
      client?.release(true);
      throw asStoreFailure(error);
    }
  }

  /** Runs the work in a transaction whose statements may take a long time (`MIGRATION_MS`). */
  migration<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(work, MIGRATION_MS);
  }

  /**
   * Runs one statement that may take a long time and cannot be in a transaction. It waits only a short time for a lock,
   * because all other statements wait behind it.
   */
  async maintain(text: string): Promise<void> {
    let client: PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      await client.query(`SET lock_timeout = ${LOCK_MS}`);
      await client.query({ text, query_timeout: MIGRATION_MS } as QueryConfig);
    } catch (error) {
      throw asStoreFailure(error);
    } finally {
      client?.release(true);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function asStoreFailure(error: unknown): unknown {
  if (error instanceof DatabaseError && DEFECT.test(error.code ?? '')) return error;
  return error instanceof StoreUnavailable ? error : new StoreUnavailable(error);
}

function describe(url: string): string {
  // The URL of a socket has no host, but the standard URL parser requires a host.
  const { host, pathname, searchParams } = new URL(url.replace(/@(?=\/)/, '@localhost'));
  return `postgres ${searchParams.get('host') ?? host}${pathname}`;
}
