import type { components } from '../../generated/openapi';
import { productColumns } from './columns';

/** How to read a file (see the document, also for the meaning of absent members). */
export type FormatDefinition = components['schemas']['FormatDefinition'];

/** How to read a file: by a format or, if `strict`, without one, by the specification. */
export type ReadDefinition = FormatDefinition & { strict?: boolean };

/** Tells whether a definition is that of the format `standard`: our columns alone. */
export function isStandard({ columns, ...others }: ReadDefinition): boolean {
  return (
    Object.keys(others).length === 0 &&
    productColumns.every((column) => {
      const { from = [] } = columns[column] ?? {};
      return from.length === 1 && from[0] === column;
    })
  );
}

/** Whether values are read by the specification: without a format, or by `standard`, under any name. */
export const isAsSpecified = (definition: ReadDefinition): boolean =>
  definition.strict === true || isStandard(definition);

export type Encoding = NonNullable<FormatDefinition['encoding']>;

/** The source of a column: exactly one of `from`, `join`, `value`, `position` and `quantity`. */
export type ColumnSource = components['schemas']['ColumnSource'];

/** The format of an upload, with its definition at that time, which stays with the feed. */
export interface FeedFormat {
  name: string;
  definition: FormatDefinition;
}
