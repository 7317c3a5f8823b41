import { createHash, randomUUID } from 'node:crypto';
import type { Client, DatabaseError, QueryConfig } from 'pg';
import { databaseConnectMilliseconds } from './cancel-statement';
import { positioned } from './sql';
import { pgSession, queryTimeout } from './undocumented-pg';

/** Whether a pool prepares statements; `if kept`: each new connection finds out whether they are kept for it. */
export type Preparing = boolean | 'if kept';

/** Whether a connection prepares statements, and why. */
export interface PreparingChoice {
  isPrepared: boolean;
  reason: string;
}

const isDirect = { isPrepared: true, reason: 'no pooler stands before PostgreSQL' };
const isKept = { isPrepared: true, reason: 'the pooler keeps them' };
export const isLost = { isPrepared: false, reason: 'sessions do not keep them' };
const isUnknown = { isPrepared: false, reason: 'whether they are kept could not be found out' };
const isOn = { isPrepared: true, reason: 'DATABASE_PREPARED_STATEMENTS is on' };
const isOff = { isPrepared: false, reason: 'DATABASE_PREPARED_STATEMENTS is off' };

/**
 * Chooses whether a new connection prepares statements: one round trip to PostgreSQL, four to a pooler.
 * @throws errors of a lost connection, and after `databaseConnectMilliseconds` without a response
 */
export async function choosePreparing(connection: Client, preparing: Preparing): Promise<PreparingChoice> {
  if (preparing !== 'if kept') return preparing ? isOn : isOff;
  try {
    // A pooler makes up the process number that it sends its client.
    const [session] = await ask<{ pid: number }>(connection, { text: 'select pg_backend_pid() as pid' });
    return session!.pid === pgSession(connection).processID ? isDirect : await askPooler(connection);
  } catch (error) {
    if ((error as Partial<DatabaseError>).severity !== 'ERROR') throw error;
    await ask(connection, { text: 'rollback' });
    return isUnknown;
  }
}

/** Asks a pooler whether it keeps prepared statements: then it gives them names of its own, otherwise it passes names on. */
async function askPooler(connection: Client): Promise<PreparingChoice> {
  const name = `probe ${randomUUID()}`;
  const text = 'select exists (select from pg_prepared_statements where name = $1) as "isFound"';
  // A transaction keeps all of this in one session.
  await ask(connection, { text: 'begin' });
  const [session] = await ask<{ isFound: boolean }>(connection, { name, text, values: [name] });
  const { isFound } = session!;
  await ask(connection, { text: isFound ? `deallocate "${name}"; commit` : 'commit' });
  return isFound ? isLost : isKept;
}

async function ask<Row extends object>(connection: Client, statement: QueryConfig): Promise<Row[]> {
  const limited = { ...statement, ...queryTimeout(databaseConnectMilliseconds) };
  return (await connection.query<Row>(limited)).rows;
}

export interface PreparedStatement {
  /** With `?` for each binding. */
  sql: string;
  /** In the driver's form. */
  text: string;
  /** Identifies one text, also on connections of other processes. */
  name: string;
  /** How often it was replaced. */
  replaced: number;
}

/** Maximum number of prepared texts: each takes memory of every session. PgBouncer's default is the same. */
export const preparedStatementsMax = 200;

/** The prepared statements by their text with `?`. */
const preparedStatements = new Map<string, PreparedStatement>();

/** Names a statement. @returns the same for the same text; undefined for another text once there are `preparedStatementsMax` */
export function prepareStatement(sql: string): PreparedStatement | undefined {
  const known = preparedStatements.get(sql);
  if (known || preparedStatements.size >= preparedStatementsMax) return known;
  return keepStatement({ sql, text: positioned(sql), replaced: 0 });
}

/**
 * Replaces a prepared statement that fails since the schema has changed, on all connections. Its text must differ too: a pooler has
 * one prepared statement for all clients that send the same text.
 */
export function replaceStatement({ sql, text, replaced, name }: PreparedStatement): void {
  // Another connection may have replaced it already.
  if (preparedStatements.get(sql)!.name !== name) return;
  const plain = text.replace(/ -- \d+$/, '');
  keepStatement({ sql, text: `${plain} -- ${replaced + 1}`, replaced: replaced + 1 });
}

function keepStatement(statement: Omit<PreparedStatement, 'name'>): PreparedStatement {
  const name = createHash('sha256').update(statement.text).digest('base64url');
  const named = { ...statement, name };
  preparedStatements.set(statement.sql, named);
  return named;
}

/**
 * Why a correct prepared statement may have failed, always without an effect.
 * - `lost`: the session does not have it, or has a statement of another client. A pooler passes names on.
 * - `stale`: columns have changed since it was prepared, and with them types of its result or of its bindings.
 * - `refused`: the pooler has ended the connection, because it does not know the name, or knows it already.
 */
export type NameFault = 'lost' | 'stale' | 'refused';

/** @returns undefined if the name was not the reason */
export function faultOfName(error: unknown): NameFault | undefined {
  const { code, severity, message } = error as Partial<DatabaseError>;
  if (code === '26000' || code === '42P05') return 'lost';
  if (code === '0A000' || code?.startsWith('42')) return 'stale';
  return severity === 'FATAL' && message?.includes('prepared statement') ? 'refused' : undefined;
}
