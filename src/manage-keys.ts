import { parseArgs } from 'node:util';
import { printTable, runCommand, UsageError } from './command';
import { loadConfig, type Config } from './config';
import { openDatabase, type Database } from './db/database';
import { migrateToLatest, missingMigrations } from './db/migrate';
import { reachDatabase } from './db/reach-database';
import { partnerExists } from './feeds/feeds.repository';
import { parsePartnerName } from './feeds/partner-name';
import { digestOf, generateKey } from './keys/key-format';
import { insertKey, listKeys, revokeKey, type ApiKeyRow } from './keys/keys.repository';
import { eventTypes, parseWebhookCommand } from './webhooks/manage-webhooks';

const usage = `Usage:
  npm run keys -- create NAME [--partner PARTNER]   make a key, and print it: it is shown only then
  npm run keys -- list                              all keys, revoked ones too, without the keys themselves
  npm run keys -- revoke NAME                       make a key useless within seconds
  npm run keys -- webhooks create URL [--partner PARTNER] [--events TYPE,TYPE]
                                                    send events to URL, and print the secret: it is shown only then
  npm run keys -- webhooks list                     all webhooks, disabled ones too, and what failed last
  npm run keys -- webhooks disable ID               send nothing more; what waits for it is dropped
  npm run keys -- webhooks enable ID                send events from now on, also after too many have failed
  npm run keys -- webhooks remove ID                forget it
NAME tells the keys apart, in logs too. A key with a PARTNER sees and touches only what is that partner's; a webhook with
one is told only of that. Without --events, it is told of all types: ${eventTypes.join(', ')}.`;

/** The command `npm run keys`: manages API keys and webhooks. Takes the settings of the service. */
async function main(): Promise<void> {
  const config = loadConfig(process.env);
  const work = parse(process.argv.slice(2), config);
  const { address, release } = await reachDatabase(config);
  const db = openDatabase(address, { applicationName: 'keys', connectionsMax: 2 });
  try {
    // Keys can be made before the first start of the service.
    if (config.migratesOnStart) await migrateToLatest(db);
    else await requireMigrations(db);
    await work(db);
  } finally {
    await db.destroy();
    await release();
  }
}

async function requireMigrations(db: Database): Promise<void> {
  const missing = await missingMigrations(db);
  if (missing.length === 0) return;
  throw new Error(`The schema is not up to date (${missing.join(', ')}): npm run migrate.`);
}

/** What the arguments ask for. @throws when that is not clear, with what the command takes */
function parse(args: string[], config: Config): (db: Database) => Promise<void> {
  try {
    const { positionals, partner, events } = readArguments(args);
    const [command, ...more] = positionals;
    if (command === 'webhooks') {
      return parseWebhookCommand(more, { partnerName: requirePartnerName(partner), events }, config);
    }
    if (events !== undefined) throw new UsageError('--events belongs to webhooks create.');
    return parseKeyCommand(positionals, partner);
  } catch (error) {
    if (error instanceof UsageError) error.message += `\n${usage}`;
    throw error;
  }
}

/** @throws UsageError */
function parseKeyCommand(
  positionals: string[],
  partner: string | undefined,
): (db: Database) => Promise<void> {
  const [command, name, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`Too many arguments: ${more.join(' ')}`);
  if (partner !== undefined && command !== 'create') throw new UsageError('--partner belongs to create.');
  switch (command) {
    case 'create': {
      const key = { key_name: requireName(name), partner_name: requirePartnerName(partner) };
      return (db) => create(db, key);
    }
    case 'list':
      if (name !== undefined) throw new UsageError(`Too many arguments: ${name}`);
      return list;
    case 'revoke': {
      const revoked = requireName(name);
      return (db) => revoke(db, revoked);
    }
    default:
      throw new UsageError(command === undefined ? 'What is to be done?' : `Unknown command: ${command}`);
  }
}

function readArguments(args: string[]): { positionals: string[]; partner?: string; events?: string } {
  try {
    const options = { partner: { type: 'string' }, events: { type: 'string' } } as const;
    const { positionals, values } = parseArgs({ args, options, allowPositionals: true });
    return { positionals, ...values };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function requireName(name: string | undefined): string {
  // What goes into a line of a log, or of a list, must stay in it.
  if (name === undefined || !/^[^\p{Cc}]{1,100}$/u.test(name) || !name.trim()) {
    throw new UsageError('A key has a NAME of 1 to 100 characters.');
  }
  return name.trim();
}

function requirePartnerName(partner: string | undefined): string | null {
  if (partner === undefined) return null;
  const name = parsePartnerName(partner);
  if (typeof name !== 'string') throw new UsageError(`Wrong PARTNER: ${name.msg}.`);
  return name;
}

/** The key alone goes to standard output, where a script can take it. */
async function create(db: Database, name: Pick<ApiKeyRow, 'key_name' | 'partner_name'>): Promise<void> {
  const key = generateKey();
  if (!(await insertKey(db, { ...name, key_digest: digestOf(key) }))) {
    throw new Error(`A key named ${name.key_name} is in use. Revoke it, or give the new one another name.`);
  }
  process.stdout.write(`${key}\n`);
  const { partner_name } = name;
  const limit = partner_name === null ? 'It may do everything.' : `It is limited to partner ${partner_name}.`;
  const isNew = partner_name !== null && !(await partnerExists(db, partner_name));
  process.stderr.write(
    `This is the key named ${name.key_name}. Keep it now: it cannot be shown again. ${limit}\n` +
      (isNew ? 'There is no feed of this partner yet.\n' : ''),
  );
}

async function list(db: Database): Promise<void> {
  const keys = await listKeys(db);
  printTable([
    ['NAME', 'PARTNER', 'CREATED', 'REVOKED'],
    ...keys.map((key) => [
      key.key_name,
      key.partner_name ?? '(all)',
      key.created_at.toISOString(),
      key.revoked_at?.toISOString() ?? '(in use)',
    ]),
  ]);
}

async function revoke(db: Database, name: string): Promise<void> {
  if (!(await revokeKey(db, name))) throw new Error(`No key named ${name} is in use.`);
  process.stderr.write(`The key named ${name} is revoked; it stops working within seconds.\n`);
}

runCommand(main);
