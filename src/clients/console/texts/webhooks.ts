import { count, plural } from '../locale';

export const webhooksTexts = {
  webhooks: {
    title: 'Webhooks',
    lead: 'Where the service sends events. Partners create webhooks by the API, for their own events; the operator with `npm run --silent admin -- webhooks`.',
    none: 'There is no webhook.',
    noneWay:
      'A partner creates one with `PUT /partners/…/webhooks/…`, the operator with `npm run --silent admin -- webhooks create URL`.',
    number: (id: string) => `Webhook ${id}`,
    url: 'Address',
    allPartners: 'All partners',
    events: 'Events',
    allEvents: 'All events',
    state: 'State',
    states: {
      used: 'In use',
      failing: (failures: number) =>
        plural(failures, { one: '1 failure', other: `${count(failures)} failures in a row` }),
      paused: (until: string) => `Paused until ${until}`,
      disabled: (since: string) => `Disabled ${since}`,
    },
    lastFailure: 'Last failure',
    discarded: 'Discarded',
    deliveries: 'Deliveries',
    deliveriesLead: 'Pending deliveries, and deliveries that ended within the last 7 days.',
    noDeliveries: 'No event has been sent in the last 7 days.',
    event: 'Event',
    happened: 'Happened',
    outcome: 'Outcome',
    outcomes: {
      pending: 'Pending',
      in_progress: 'Being sent',
      delivered: 'Delivered',
      discarded: 'Discarded',
    } as Record<string, string>,
    attempts: 'Attempts',
    result: 'Last result',
    ended: 'Ended',
    next: (at: string) => `next attempt ${at}`,
  },
};
