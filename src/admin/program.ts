import { CommandLine } from '../shared/command-line';
import { addKeys } from './keys';
import { addObjects } from './objects';
import { addPartners } from './partners';
import { addSales } from './sales';
import { addWebhooks } from './webhooks';

/** The operator's command: one group of commands for each thing that is managed. */
export function adminProgram(): CommandLine {
  const program = new CommandLine('npm run --silent admin --');
  program.description('Manage the service. Takes the settings of the service from the environment.');
  const keys = addKeys(program);
  // `npm run keys -- webhooks`, until the next release.
  addWebhooks(keys, { hidden: true });
  addWebhooks(program);
  addObjects(program);
  addPartners(program);
  addSales(program);
  return program;
}
