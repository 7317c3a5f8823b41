import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Database } from '../../base/db/database';
import { partnerExists } from '../../catalog/partners/partners.repository';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { digestOf, generateKey } from '../../base/key-format';
import { insertKey, listKeys, revokeKey, type ApiKeyRow, type NewKey } from '../../http/keys/keys.repository';
import { partnerNameArgument, timeArgument } from './arguments';
import { withDatabase } from './context';
import { printLine, printNote, printTable } from './output';

export function addKeys(program: Command): void {
  const keys = program.command('keys').description('create, list and revoke API keys');
  keys
    .command('create')
    .description('create a key and print it: it is shown only this once')
    .argument('<NAME>', 'identifies the key in lists and logs', keyName)
    .option('--partner <PARTNER>', 'limit the key to the data of this partner', partnerNameArgument)
    .option('--read-only', 'let the key only read, inspect files and plan runs')
    .option(
      '--expires <TIME>',
      'refuse the key from then on: 2027-01-31 (0:00 UTC) or 2027-01-31T18:00:00Z',
      futureTime,
    )
    .addOption(
      new Option('--expires-in <DURATION>', 'refuse the key after that: 90d or 12h')
        .argParser(timeAfter)
        .conflicts('expires'),
    )
    .action((name: string, { partner = null, readOnly = false, expires, expiresIn }: CreateOptions) =>
      withDatabase(async ({ db }) =>
        create(db, {
          key_name: name,
          partner_name: partner && (await storedPartnerName(db, partner)),
          is_read_only: readOnly,
          expires_at: expires ?? expiresIn ?? null,
        }),
      ),
    );
  keys
    .command('list')
    .description('list all keys, expired and revoked ones too, without the keys themselves')
    .action(() => withDatabase(({ db }) => list(db)));
  keys
    .command('revoke')
    .description('revoke a key: it is refused within seconds')
    .argument('<NAME>', 'the name of the key', keyName)
    .action((name: string) => withDatabase(({ db }) => revoke(db, name)));
}

interface CreateOptions {
  partner?: string | null;
  readOnly?: boolean;
  expires?: Date;
  expiresIn?: Date;
}

function keyName(text: string): string {
  // A line break would forge a line of a log or list.
  if (!/^[^\p{Cc}]{1,100}$/u.test(text) || !text.trim()) {
    throw new InvalidArgumentError(
      'Wrong NAME: it must have 1 to 100 characters, none of them a control character.',
    );
  }
  return text.trim();
}

/** @throws InvalidArgumentError */
function futureTime(text: string): Date {
  const time = timeArgument(text);
  if (time.getTime() <= Date.now()) throw new InvalidArgumentError('Wrong TIME: it must be in the future.');
  return time;
}

const durationDaysMax = 36_500;

/** Parses a duration from now. @throws InvalidArgumentError */
function timeAfter(text: string): Date {
  const [, number, unit] = /^([1-9]\d{0,6})([dh])$/.exec(text) ?? [];
  const hours = Number(number) * (unit === 'd' ? 24 : 1);
  if (!(hours <= durationDaysMax * 24)) {
    throw new InvalidArgumentError('Wrong DURATION: it must be one such as 90d or 12h, at most 36500d.');
  }
  return new Date(Date.now() + hours * 3_600_000);
}

/** Prints only the key to standard output, for scripts. */
async function create(db: Database, options: Omit<Required<NewKey>, 'key_digest'>): Promise<void> {
  const { key_name: name, partner_name: partner, is_read_only: isReadOnly, expires_at: expiresAt } = options;
  const key = generateKey();
  if (!(await insertKey(db, { ...options, key_digest: digestOf(key) }))) {
    throw new Error(`A key named ${name} is in use. Revoke it, or give the new one another name.`);
  }
  printLine(key);
  const notes = [
    `This is the key named ${name}. Keep it now: it cannot be shown again.`,
    isReadOnly ? 'It is read-only.' : partner === null && 'It has full access.',
    partner !== null && `It is limited to partner ${partner}.`,
    expiresAt && `It expires at ${expiresAt.toISOString()}.`,
  ];
  const isNew = partner !== null && !(await partnerExists(db, partner));
  printNote(notes.filter(Boolean).join(' ') + (isNew ? '\nThere is no feed of this partner yet.' : ''));
}

async function list(db: Database): Promise<void> {
  const keys = await listKeys(db);
  printTable([
    ['NAME', 'PARTNER', 'ACCESS', 'CREATED', 'LAST USED', 'EXPIRES', 'STATE'],
    ...keys.map((key) => [
      key.key_name,
      key.partner_name ?? '(all)',
      key.is_read_only ? 'read-only' : 'full',
      key.created_at.toISOString(),
      key.last_used_at?.toISOString() ?? '(never)',
      key.expires_at?.toISOString() ?? '(never)',
      stateOf(key),
    ]),
  ]);
}

function stateOf({ revoked_at, expires_at }: ApiKeyRow): string {
  if (revoked_at) return `revoked ${revoked_at.toISOString()}`;
  return expires_at && expires_at.getTime() <= Date.now() ? 'expired' : 'in use';
}

async function revoke(db: Database, name: string): Promise<void> {
  if (!(await revokeKey(db, name))) throw new Error(`No key named ${name} is in use.`);
  printNote(`The key named ${name} is revoked; it stops working within seconds.`);
}
