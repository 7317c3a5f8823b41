import { info } from '../../../generated/openapi.json';
import { shellWord } from './printable';
import type { Service } from './service';

/** Where a service offers the newest command, and describes it; both are outside of the contract. */
const commandPath = '/cli/partner-feed.cjs';
const descriptionPath = '/cli/partner-feed.json';

/** Finds out how to get a newer command, if the service has one. Never rejects. @returns undefined if it has none */
export async function findNewer(service: Service, signal: AbortSignal): Promise<string | undefined> {
  const page = await service.findPage(descriptionPath, signal);
  const { version } = (page ?? {}) as { version?: unknown };
  if (typeof version !== 'string' || !isNewer(version)) return undefined;
  return (
    `This command has version ${info.version}, the service ${version}.` +
    ` Get the newer one: curl -O ${shellWord(service.urlOf(commandPath).href)}`
  );
}

/** Compares two versions of a release; another text is not newer. */
export function isNewer(version: string, than: string = info.version): boolean {
  const [one, other] = [version, than].map((text) => /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(text));
  if (!one || !other) return false;
  const at = [1, 2, 3].find((part) => Number(one[part]) !== Number(other[part]));
  return at !== undefined && Number(one[at]) > Number(other[at]);
}
