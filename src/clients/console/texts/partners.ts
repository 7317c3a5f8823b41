import type { Schemas } from '../api';
import { count, plural } from '../locale';
import { productsOf } from './nouns';

type AttentionReason = Schemas['KnownAttentionReason'];

export const partnersTexts = {
  home: {
    title: 'Overview',
    emptyTitle: 'Nothing has been sent yet',
    emptyLead:
      'A feed is a CSV file with one product per row. Try it with a sample of four rows: two are right, two have mistakes that you will mend.',
    sample: 'Try the sample feed',
    own: 'Send your own file',
    partners: 'Partners, the most urgent first',
  },
  attention: {
    none: 'All is well',
    names: {
      last_run_failed: 'The last run failed',
      withdrawals_blocked: 'Too many products would be withdrawn',
      price_jump: 'Prices jumped',
      no_prices: 'No prices',
      source_failing: 'A source fails',
      much_smaller: 'A much smaller feed',
      many_skipped: 'Many rows skipped',
      more_skipped: 'More rows skipped each time',
      stale: 'No load for a long time',
      never_run: 'A feed waits to be run',
    } as Record<AttentionReason, string>,
    since: (at: string) => `since ${at}`,
    reasons: {
      last_run_failed: (feeds) =>
        plural(feeds, { one: 'The last run failed', other: `The last runs of ${count(feeds)} feeds failed` }),
      withdrawals_blocked: (products) => `Stopped: it would withdraw ${productsOf(products)}`,
      price_jump: (products) => `Prices of ${productsOf(products)} jumped`,
      no_prices: () => 'The last feed has no prices',
      source_failing: (sources) =>
        plural(sources, { one: 'A source fails', other: `${count(sources)} sources fail` }),
      much_smaller: (rows) => `The last feed has ${count(rows)} rows fewer`,
      many_skipped: (rows) => `Many rows skipped: ${count(rows)}`,
      more_skipped: (rows) => `More rows skipped each time: ${count(rows)}`,
      stale: (days) => plural(days, { one: 'No load for a day', other: `No load for ${count(days)} days` }),
      never_run: (feeds) =>
        plural(feeds, { one: 'A feed waits to be run', other: `${count(feeds)} feeds wait to be run` }),
    } as Record<AttentionReason, (count: number) => string>,
  },
  partners: {
    title: 'Partners',
    none: 'No partner has this name.',
    search: 'Name begins with',
    name: 'Partner',
    products: 'Products',
    feeds: 'Feeds',
    last: 'Last load',
    lastFeed: 'Last feed',
    never: 'Never',
    attention: 'Needs attention',
    reason: 'Needs attention because',
    sort: 'Order',
    sorts: { name: 'By name', attention: 'The most urgent first' },
    export: 'Download its products',
    toCatalog: 'See its products',
    send: 'Send a feed',
  },
  formats: {
    title: 'Formats',
    none: 'This partner has no format of its own',
    noneLead:
      'A format says how to read files that do not have our column names, or another delimiter or encoding. Send a file: the console suggests one.',
    name: 'Format',
    isDefault: 'Default',
    isDefaultLead: 'Used for every file that is sent without a format.',
    automatic: 'As the file shows',
    columns: 'Columns',
    changed: 'Changed',
    remove: 'Delete',
    removeOf: (name: string) => `Delete the format ${name}`,
    removeTitle: (name: string) => `Delete the format ${name}?`,
    removeLead:
      'Feeds that were sent with it keep it. Later files cannot be read with it, nor can mended rows of these feeds.',
    toSources: 'See the sources of this partner',
    view: (name: string) => `Format ${name}`,
    byFile: 'Try it with a file',
    how: 'How the file is read',
    header: 'First row',
    hasHeader: 'Names of the columns',
    noHeader: 'A product: columns are numbered',
    columnsLead:
      'Where each column of the catalog comes from. Names of the file are separated by |: of several names, the first one in the file is used.',
    kinds: {
      '': 'Not in the file',
      from: 'Column of the file',
      position: 'Column by its number',
      value: 'The same for all rows',
      join: 'Several columns, joined',
      quantity: 'Number of pieces',
    },
    arguments: {
      from: (field: string) => `Name in the file: ${field}`,
      position: (field: string) => `Number of the column: ${field}`,
      value: (field: string) => `${field} of all rows`,
      join: (field: string) => `Names in the file, joined: ${field}`,
      quantity: (field: string) => `Name of the number in the file: ${field}`,
    },
    between: (field: string) => `Put between them: ${field}`,
    other: 'The format has more rules, which stay as they are',
    save: 'Save the format',
    saved: 'The format is saved. It applies to files that are sent or fetched from now on.',
  },
  queue: {
    title: 'Queue of runs',
    waiting: 'Waiting',
    running: 'In progress',
    oldest: 'Waiting longest',
    none: 'No run waits, and none is in progress.',
    noneWay: 'Every requested run is listed here until it ends.',
    limited: 'This view needs a key for all partners',
    limitedWay: 'Your key is limited to one partner. The steps of a feed show whether its own run waits.',
    refreshed: 'Updated every five seconds.',
  },
};
