import Database from 'better-sqlite3';

export interface Failure {
  code: string;
  /**
   * What SQLite does before it reports the failure: `nothing`, or end the transaction (`rollback`), or complete the
   * write (`write`).
   */
  first: 'nothing' | 'rollback' | 'write';
}

type AnyStatement = Record<'run' | 'get' | 'all', (...values: unknown[]) => unknown> & {
  source: string;
  readonly: boolean;
};

/**
 * Makes writes of a connection fail on request, except rollbacks, which never fail in SQLite.
 * @param next is asked before each write, with its SQL
 * @param written is told after each write that SQLite has done, even if it is reported as failed
 */
export function failing(
  db: Database.Database,
  next: (sql: string) => Failure | null,
  written: (sql: string) => void = () => undefined,
): Database.Database {
  return intercepted(db, ({ readonly, source }) => !readonly || source === 'COMMIT', next, written);
}

/** Makes reads of the file fail on request. @param next is asked before each read, with its SQL */
export function failingToRead(
  db: Database.Database,
  next: (sql: string) => Failure | null,
): Database.Database {
  const isRead = ({ readonly, source }: AnyStatement) =>
    readonly && !/^(?:COMMIT|ROLLBACK|SELECT total_changes\(\))$/.test(source);
  return intercepted(db, isRead, next);
}

function intercepted(
  db: Database.Database,
  isMeant: (statement: AnyStatement) => boolean,
  next: (sql: string) => Failure | null,
  written: (sql: string) => void = () => undefined,
): Database.Database {
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => {
    const statement = prepare(sql) as unknown as AnyStatement;
    if (!isMeant(statement)) return statement;
    for (const method of ['run', 'get', 'all'] as const) {
      const work = statement[method].bind(statement);
      const write = (values: unknown[]) => {
        const result = work(...values);
        written(sql);
        return result;
      };
      statement[method] = (...values) => {
        const failure = next(sql);
        if (failure === null) return write(values);
        if (failure.first === 'write') write(values);
        if (failure.first === 'rollback' && db.inTransaction) db.exec('ROLLBACK');
        throw new Database.SqliteError('injected', failure.code);
      };
    }
    return statement;
  }) as typeof db.prepare;
  return db;
}
