import { orderableAvailabilities } from '../../../feed-format/availability';
import { texts } from '../texts';
import { Value } from './value';

/** Shows whether a product can be bought, in words; a word that the service does not know as it is. */
export function Availability({ value }: { value: string | null | undefined }) {
  if (!value) return null;
  const known = texts.availabilities[value];
  if (!known) return <Value>{value}</Value>;
  return (
    <span className={`badge ${orderableAvailabilities.includes(value) ? 'good' : 'watch'}`}>{known}</span>
  );
}
