import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { bodyOf, client } from '../api';
import { Field, type FieldOptions } from './field';
import { useDeferred } from './use-deferred';

/** A field for the name of a partner: suggests names that begin with the entered text. */
export function PartnerField({ value, ...props }: Omit<FieldOptions, 'suggestions'> & { value: string }) {
  const typed = useDeferred(value.trim());
  const found = useQuery({
    queryKey: ['partner-names', typed],
    queryFn: () => bodyOf(client.GET('/partners', { params: { query: { q: typed || undefined } } })),
    placeholderData: keepPreviousData,
  });
  const names = found.data?.items.map(({ partner_name }) => partner_name) ?? [];
  return <Field {...props} value={value} suggestions={names} />;
}
