import { ConfigError } from '../../base/settings';
import { queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import type { Log } from '../../base/log';

const keyCharactersMin = 16;

/** Refuses short keys of `API_KEYS`; only warns if the database has data, in this release. @throws ConfigError */
export async function refuseShortKeys(db: Database, apiKeys: readonly string[], log: Log): Promise<void> {
  const short = apiKeys.flatMap((key, index) => (key.length < keyCharactersMin ? [index + 1] : []));
  if (short.length === 0) return;
  if (await hasData(db)) {
    log.warn(
      { short_keys: short, characters_min: keyCharactersMin },
      'API_KEYS has short keys: replace them, the next release refuses to start with them',
    );
    return;
  }
  throw new ConfigError(
    `Wrong setting API_KEYS: a key must have at least ${keyCharactersMin} characters, and number ${short.join(', ')} has ` +
      'fewer. Make one with: openssl rand -hex 24.',
  );
}

async function hasData(db: Database): Promise<boolean> {
  const statement = sql`select exists (select from partners) or exists (select from orders) as "hasData"`;
  const [row] = await queryRows<{ hasData: boolean }>(db, statement);
  return row!.hasData;
}
