import { DatabaseError, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { StoreUnavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Maximum number of connections of one daemon. */
const CONNECTIONS_MAX = 5;
/** How long a query waits for a connection, ms. */
const CONNECT_MS = 2_000;
/** How long a query may take, ms. After that, the connection is closed. */
const QUERY_MS = 2_000;
/** The same for the statements of a migration, which waits for the migration of another daemon. */
const MIGRATION_MS = 60_000;
/** An unused connection is closed after this time, ms. */
const IDLE_MS = 30_000;

/** SQLSTATE classes of defects of the program: data, constraints, syntax. Everything else is the environment. */
const DEFECT = /^(?:22|23|42(?!501))/;

/** The operations within a transaction. */
export interface Transaction {
  query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A Postgres database: a pool of connections with a limited size, in which every wait has a time limit. */
export class Database {
  /** Host and name of the database, for people. */
  readonly description: string;
  readonly #pool: Pool;

  /** @param url `postgres://user:password@host/name?sslmode=…`. The URL determines whether TLS is used. */
  constructor(url: string, log: Pick<Log, 'debug'>) {
    this.description = describe(url);
    this.#pool = new Pool({
      connectionString: url,
      max: CONNECTIONS_MAX,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      idleTimeoutMillis: IDLE_MS,
      keepAlive: true,
      // A command must not wait for idle connections.
      allowExitOnIdle: true,
      application_name: 'agentd',
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

  /** Runs the work in one transaction, which is rolled back if the work throws. @throws as `query` does. */
  async transaction<T>(work: (transaction: Transaction) => Promise<T>, query_timeout = QUERY_MS): Promise<T> {
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
      // The server rolls back the transaction of a closed connection.
      client?.release(true);
      throw asStoreFailure(error);
    }
  }

  /** A transaction whose statements may take long. */
  migration<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.transaction(work, MIGRATION_MS);
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
  // The host is left out if it is a socket.
  const { host, pathname, searchParams } = new URL(url.replace(/@(?=\/)/, '@localhost'));
  return `postgres ${searchParams.get('host') ?? host}${pathname}`;
}
