import { CommandLine } from '../../base/command-line';
import { addBackup } from './backup';
import { addDatabase } from './database';
import { addKeys } from './keys';
import { addObjects } from './objects';
import { addOrders } from './orders';
import { addPartners } from './partners';
import { addProducts } from './products';
import { addPrune } from './prune';
import { addSales } from './sales';
import { addSecrets } from './secrets';
import { addWebhooks } from './webhooks';

/** Makes the operator's command, with a group of commands for each kind of resource. */
export function adminProgram(): CommandLine {
  const program = new CommandLine('npm run --silent admin --');
  program.description('Manage the service. Takes the settings of the service from the environment.');
  addKeys(program);
  addWebhooks(program);
  addBackup(program);
  addDatabase(program);
  addObjects(program);
  addOrders(program);
  addPartners(program);
  addProducts(program);
  addPrune(program);
  addSales(program);
  addSecrets(program);
  return program;
}
