import { usage as feedUsage } from '../../src/client/arguments';
import { codeBlock, page } from './markdown';

/** The reference page of the commands. */
export function commandLinePage(): string {
  return page(
    'Command line',
    'the --help texts of the commands',
    'Commands are built by `make run` or `make dist/.built`. [Use the command line](../how-to/use-the-command-line.md) has' +
      ' examples.',
    '## npm run feed',
    'The client of partners. It uses the HTTP API only and needs no settings of the service. `npx partner-feed` is the same.',
    codeBlock('text', feedUsage),
  );
}
