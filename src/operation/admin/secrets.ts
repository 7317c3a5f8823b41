import type { Command } from 'commander';
import { listSealedSources } from '../../intake/sources/source-secrets';
import { listSealedWebhooks } from '../../webhooks/webhook-secrets';
import { ConfigError } from '../../base/settings';
import { secretBoxOf } from '../process/secret-box';
import { withDatabase, type AdminContext } from './context';
import { printLine, printNote } from './output';

export function addSecrets(program: Command): void {
  const secrets = program.command('secrets').description('change the key that encrypts stored secrets');
  secrets
    .command('reencrypt')
    .description(
      'encrypt the secrets of sources and of webhooks of partners with the first key of SECRETS_KEY; exit code 1 if no key decrypts one',
    )
    .option('--dry-run', 'only list those that an older key has encrypted')
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      withDatabase((context) => reencrypt(context, dryRun)),
    );
}

async function reencrypt({ db, config }: AdminContext, dryRun: boolean): Promise<void> {
  const box = secretBoxOf(config);
  if (!box)
    throw new ConfigError(
      'Wrong setting SECRETS_KEY: set it to the new key and those before it, separated by commas.',
    );
  const counts = { current: 0, changed: 0, unreadable: 0 };
  for (const { owner, sealed, context, replace } of [
    ...(await listSealedSources(db)),
    ...(await listSealedWebhooks(db)),
  ]) {
    const again = box.sealAgain(sealed, context);
    if (again === 'current') counts.current++;
    else if (again === undefined) {
      counts.unreadable++;
      printLine(`no key decrypts the secrets of ${owner}`);
    } else {
      counts.changed++;
      printLine(`${dryRun ? 'to be encrypted again' : 'encrypted again'}: ${owner}`);
      if (!dryRun && (await replace(again)) === 0)
        throw new Error('A secret has changed meanwhile: call the command again.');
    }
  }
  const { current, changed, unreadable } = counts;
  printNote(
    `With the first key: ${current + (dryRun ? 0 : changed)}. ${dryRun ? 'With an older one' : 'Encrypted again'}: ${changed}. ` +
      `Not readable: ${unreadable}.`,
  );
  if (unreadable > 0) {
    throw new Error(
      'No key of SECRETS_KEY decrypts some secrets: add the key that encrypted them, or let their owners send them again.',
    );
  }
}
