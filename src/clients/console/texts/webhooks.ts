import { count, plural } from '../locale';

const eventsOf = (events: number) => `${count(events)} ${plural(events, { one: 'event', other: 'events' })}`;

export const webhooksTexts = {
  webhooks: {
    title: 'Webhooks',
    lead: 'Addresses of your programs. The service sends them a message when something happens, such as a loaded feed or an order.',
    none: 'No webhook yet',
    noneWay:
      'With a webhook, your program learns of a loaded feed, a failed run or an order at once, instead of asking again and again. A developer creates it by the API, with the address of the program.',
    noneAction: 'How to create one',
    all: 'All webhooks',
    number: (id: string) => `Webhook ${id}`,
    unknown: (id: string) => `There is no webhook ${id}`,
    unknownWay: 'It was removed, or it belongs to a partner that your key may not see.',
    url: 'Address',
    partner: 'Partner',
    allPartners: 'All partners',
    created: 'Created',
    events: 'Sends',
    allEvents: 'Everything that happens',
    eventNames: {
      'feed.uploaded': 'A feed was uploaded',
      'job.completed': 'A feed was loaded',
      'job.failed': 'A run failed',
      'job.reverted': 'A run was undone',
      'source.failed': 'A source cannot be fetched',
      'partner.stale': 'A partner sends no feeds',
      'partner.attention': 'A partner needs attention',
      'order.created': 'An order was created',
      'webhook.ping': 'Test',
    } as Record<string, string>,
    state: 'State',
    states: {
      used: 'Works',
      failing: (failures: number) =>
        plural(failures, { one: '1 failed attempt', other: `${count(failures)} failed attempts in a row` }),
      paused: 'Paused',
      disabled: 'Switched off',
    },
    resumes: 'sends again ',
    lastFailure: 'Last failure',
    discarded: 'Lost events',
    discardedHint: 'Not accepted by the receiver in 28 hours or more.',
    deliveries: 'Messages of the last 7 days',
    noDeliveries: 'No message in the last 7 days',
    noDeliveriesWay: 'A message is listed here as soon as something happens that this webhook sends.',
    event: 'Event',
    happened: 'Happened',
    outcome: 'Outcome',
    outcomes: {
      pending: 'Waiting',
      in_progress: 'Being sent',
      delivered: 'Delivered',
      discarded: 'Lost',
    } as Record<string, string>,
    attempts: 'Attempts',
    result: 'Last response',
    noResponse: 'No response',
    ended: 'Ended',
    next: 'next attempt ',
    due: 'next attempt due now',
    test: {
      action: 'Send a test',
      accepted: (status: number) => `The receiver accepted the test message (HTTP ${status}).`,
      refused: (status: number) =>
        `The receiver refused the test message (HTTP ${status}). It accepts a message by a status from 200 to 299.`,
      noResponse:
        'The receiver did not respond within 5 seconds. Check the address, that it is reachable from the internet, and its certificate.',
      unreadable:
        'The service cannot read the secret of this webhook, so that it cannot sign a message. Ask the operator to check SECRETS_KEY, or replace the webhook with a new secret.',
    },
    pause: {
      action: 'Pause',
      title: 'Pause this webhook?',
      lead: 'Nothing is sent during the pause. Events that happen meanwhile are kept, and sent afterwards.',
      field: 'Pause for',
      durations: [
        ['3600', '1 hour'],
        ['14400', '4 hours'],
        ['43200', '12 hours'],
        ['86400', '1 day'],
      ] as const,
      done: 'The webhook is paused. Events are kept until then.',
      resume: 'Resume now',
      resumed: 'The webhook sends again, also the events of the pause.',
    },
    replay: {
      action: 'Send events again',
      title: 'Send events again',
      lead: 'Lost events of the period are sent again. Events that still wait are not affected.',
      field: 'Events of',
      lastHour: 'The last hour',
      today: 'Today',
      yesterday: 'Yesterday',
      includeDelivered: 'Delivered events too',
      includeDeliveredHint: 'The receiver gets them once more, with the same message id.',
      confirm: 'Send again',
      done: (events: number) => `${eventsOf(events)} will be sent again in a moment.`,
      nothing: 'There is no lost event in this period.',
      nothingAtAll: 'There is no event in this period.',
    },
    disabledWay:
      'This webhook is switched off, so that nothing can be sent again. Save it again by the API, or ask the operator to enable it.',
    ofOperator: 'This webhook is managed by the operator',
    ofOperatorWay:
      'On the machine of the service, the operator can test it, send lost events again, and switch it off:',
    commands: (id: string) =>
      ['ping', 'replay', 'disable']
        .map((action) =>
          [
            `npm run --silent admin -- webhooks ${action} ${id}`,
            action === 'replay' && '--from YYYY-MM-DD --to YYYY-MM-DD',
          ]
            .filter(Boolean)
            .join(' '),
        )
        .join('\n'),
  },
};
