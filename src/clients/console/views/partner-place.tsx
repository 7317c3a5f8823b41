import { useQuery } from '@tanstack/react-query';
import { Redirect } from 'wouter';
import { fetchPlace } from '../data/partner-place';
import { PageView } from '../parts/page';
import { Query } from '../parts/query';

interface Options {
  partner: string;
  /** As `fetchPlace`. */
  place: string;
}

/** Leads to the view where a person acts: which feed it is about is asked when a link is followed, not for each link. */
export function PartnerPlaceView({ partner, place }: Options) {
  const address = useQuery({
    queryKey: ['partner-place', partner, place],
    queryFn: () => fetchPlace(partner, place),
    // The next attempt can lead elsewhere.
    gcTime: 0,
  });
  return (
    <PageView title={partner}>
      <Query of={address}>{(to) => <Redirect to={to} replace />}</Query>
    </PageView>
  );
}
