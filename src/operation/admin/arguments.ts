import { InvalidArgumentError } from 'commander';
import { parsePartnerName } from '../../catalog/partners/partner-name';

/** Parses the name of a partner, by the rule of the upload's form. @throws InvalidArgumentError */
export function partnerNameArgument(text: string): string {
  const name = parsePartnerName(text);
  if (typeof name !== 'string') throw new InvalidArgumentError(`Wrong PARTNER: ${name.msg}.`);
  return name;
}

/** Parses the number of a webhook. @throws InvalidArgumentError */
export function endpointIdArgument(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new InvalidArgumentError('Wrong ID: it must be a number of webhooks list.');
  }
  return Number(text);
}

/** Parses a margin of numbers. @throws InvalidArgumentError */
export function marginArgument(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new InvalidArgumentError('Wrong --margin: it must be a whole number from 1 to 999999999.');
  }
  return Number(text);
}

const timeForm = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** Parses a day, which begins at 0:00 UTC, or an instant with its offset. @throws InvalidArgumentError */
export function timeArgument(text: string): Date {
  const [, day] = timeForm.exec(text) ?? [];
  const time = new Date(text);
  // `Date` converts February 30 to March 2.
  if (!day || Number.isNaN(time.getTime()) || !new Date(day).toISOString().startsWith(day)) {
    throw new InvalidArgumentError('Wrong TIME: it must be one such as 2027-01-31 or 2027-01-31T18:00:00Z.');
  }
  return time;
}
