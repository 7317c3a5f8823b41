import type { components } from '../../generated/openapi';

/** How to read a file, as the document describes it. An absent member has the meaning that is stated there. */
export type FormatDefinition = components['schemas']['FormatDefinition'];

/** How a file is read: by a format or, `strict`, as the specification says where there is none. */
export type ReadDefinition = FormatDefinition & { strict?: boolean };

export type Encoding = NonNullable<FormatDefinition['encoding']>;

/** Where a column comes from: exactly one of `from`, `join`, `value` and `position`. */
export type ColumnSource = components['schemas']['ColumnSource'];

/** A format that a feed was uploaded with: its definition then, which stays with the feed. */
export interface FeedFormat {
  name: string;
  definition: FormatDefinition;
}
