import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { info } from '../../../generated/openapi.json';

/** The command of partners, as one file without dependencies. */
export const commandPath = '/cli/partner-feed.cjs';

/** What `GET /cli/partner-feed.json` says of the command: a client compares its version. */
export interface OfferedCommand {
  version: string;
  file: string;
  size_bytes: number;
  sha256: string;
  /** The versions of Node.js that run it. */
  node: string;
}

export const describeCommand = (content: Buffer): OfferedCommand => ({
  version: info.version,
  file: basename(commandPath),
  size_bytes: content.length,
  sha256: hash('sha256', content, 'hex'),
  node: '>=20.19',
});
