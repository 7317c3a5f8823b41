import { InvalidArgumentError, type Command } from 'commander';
import type { Database } from '../db/database';
import { partnerExists } from '../feeds/feeds.repository';
import { digestOf, generateKey } from '../keys/key-format';
import { insertKey, listKeys, revokeKey } from '../keys/keys.repository';
import { partnerNameArgument } from './arguments';
import { withDatabase } from './context';
import { printTable } from './table';

/** Adds the group of commands that manage API keys. */
export function addKeys(program: Command): Command {
  const keys = program.command('keys').description('create, list and revoke API keys');
  keys
    .command('create')
    .description('create a key and print it: it is shown only this once')
    .argument('<NAME>', 'tells the key from others, in logs too', keyName)
    .option('--partner <PARTNER>', 'limit the key to what is this partner’s', partnerNameArgument)
    .action((name: string, { partner = null }: { partner?: string | null }) =>
      withDatabase(({ db }) => create(db, name, partner)),
    );
  keys
    .command('list')
    .description('list all keys, revoked ones too, without the keys themselves')
    .action(() => withDatabase(({ db }) => list(db)));
  keys
    .command('revoke')
    .description('revoke a key: it is refused within seconds')
    .argument('<NAME>', 'the name of the key', keyName)
    .action((name: string) => withDatabase(({ db }) => revoke(db, name)));
  return keys;
}

function keyName(text: string): string {
  // A name must not break the line of a log or of a list.
  if (!/^[^\p{Cc}]{1,100}$/u.test(text) || !text.trim()) {
    throw new InvalidArgumentError(
      'Wrong NAME: it must have 1 to 100 characters, none of them a control character.',
    );
  }
  return text.trim();
}

/** Prints the key, alone, to standard output, where a script can take it. */
async function create(db: Database, name: string, partner: string | null): Promise<void> {
  const key = generateKey();
  if (!(await insertKey(db, { key_name: name, partner_name: partner, key_digest: digestOf(key) }))) {
    throw new Error(`A key named ${name} is in use. Revoke it, or give the new one another name.`);
  }
  process.stdout.write(`${key}\n`);
  const limit = partner === null ? 'It may do everything.' : `It is limited to partner ${partner}.`;
  const isNew = partner !== null && !(await partnerExists(db, partner));
  process.stderr.write(
    `This is the key named ${name}. Keep it now: it cannot be shown again. ${limit}\n` +
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
