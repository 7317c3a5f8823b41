import { InvalidArgumentError } from 'commander';
import { parsePartnerName } from '../partners/partner-name';

/** Parses the name of a partner, by the rule of the upload's form. @throws InvalidArgumentError */
export function partnerNameArgument(text: string): string {
  const name = parsePartnerName(text);
  if (typeof name !== 'string') throw new InvalidArgumentError(`Wrong PARTNER: ${name.msg}.`);
  return name;
}
