import { parseArgs } from 'node:util';
import { runCommand } from './command';
import { loadConfig, type Config } from './config';
import { limits } from './limits';
import { openDatabase, type DatabaseAddress } from './db/database';
import { reachDatabase } from './db/reach-database';
import { cleanObjects } from './feeds/clean-objects';
import { openObjectStore } from './storage/object-store';

/** The command `make clean-objects`: removes objects that no feed names. Takes the settings of the service. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
  const dryRun = values['dry-run'];
  const config = loadConfig(process.env);
  const { address, release } = await reachDatabase(config);
  try {
    await clean(config, address, dryRun);
  } finally {
    await release();
  }
}

async function clean(config: Config, address: DatabaseAddress, dryRun: boolean): Promise<void> {
  const db = openDatabase(address, { applicationName: 'clean-objects', connectionsMax: 1 });
  const objectStore = await openObjectStore(config);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  try {
    const { seen, removed, young, foreign, unfinishedRemoved } = await cleanObjects(db, objectStore, {
      dryRun,
      before: new Date(Date.now() - limits.orphanObjectMilliseconds),
      report: (line) => say(`${dryRun ? 'would remove' : 'removing'} ${line}`),
    });
    const hours = limits.orphanObjectMilliseconds / 3_600_000;
    say(
      `Objects: ${seen}. No feed names ${removed + young} of them; ${dryRun ? 'to be removed' : 'removed'}: ${removed}; ` +
        `left, because younger than ${hours} hours: ${young}. ` +
        `Unfinished uploads ${dryRun ? 'to be removed' : 'removed'}: ${unfinishedRemoved}.`,
    );
    if (foreign > 0) say(`Left alone, because not of this database: ${foreign} objects.`);
  } finally {
    objectStore.close();
    await db.destroy();
  }
}

runCommand(main);
