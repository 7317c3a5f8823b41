/** Severity of an issue: an error skips the row; a warning does not, except for `repeated_header`. */
export type IssueSeverity = 'error' | 'warning';

/**
 * Meaning and remedy of a code. `RowIssueCode` in the contract has the same text; a test compares. The message of a single
 * issue, which may contain its values, is in `rows/row-issues.ts`.
 */
export interface IssueCode {
  severity: IssueSeverity;
  description: string;
  remedy: string;
  /** A feed that raises it, perhaps with a built-in format: the header and the necessary rows. */
  example: string;
}

/** The stable codes: errors first, both in the order of the checks of a row. */
export const issueCodes = {
  missing_required: {
    severity: 'error',
    description: '`sku` or `product_name` is missing or empty.',
    remedy: 'Fill the cell.',
    example: 'sku,product_name\n,Two-person tent',
  },
  incomplete_group: {
    severity: 'error',
    description:
      'The row takes cells from the first row of its group (`fill_down`), which has no `product_name` or could not be read.',
    remedy: 'Fill the cell, or correct the rows above; the rows of a group must follow each other.',
    example: 'Handle,Title,Option1 Value,Variant SKU\nmug,,Big,MUG-B',
  },
  invalid_price: {
    severity: 'error',
    description: 'The price does not follow the price grammar.',
    remedy: 'Correct the price as the message says. An empty cell removes the stored price.',
    example: 'sku,product_name,price\nLAMP-1,Head lamp,"1.299,00"',
  },
  invalid_currency: {
    severity: 'error',
    description: 'The currency is not an active ISO 4217 code.',
    remedy: 'Use the three-letter code, for example USD.',
    example: 'sku,product_name,price,currency\nLAMP-1,Head lamp,24.50,Euro',
  },
  currency_conflict: {
    severity: 'error',
    description:
      "The currency in the price differs from the row's `currency`; with a format other than `standard`, also a sign that cannot stand for it.",
    remedy: 'Make both the same, or name the currency once.',
    example: 'sku,product_name,price,currency\nLAMP-1,Head lamp,USD 24.50,EUR',
  },
  too_many_fields: {
    severity: 'error',
    description: 'The row has more fields than the header.',
    remedy: 'Put quotes around values that contain the delimiter.',
    example: 'sku,product_name\nLAMP-1,Head lamp, red',
  },
  value_too_long: {
    severity: 'error',
    description:
      'A value is longer than its column allows (sku, brand 255; product_name, category 1,000; availability 100; description 65,535 characters), or the row is longer than 512 KiB; `field` is null then.',
    remedy: 'Shorten the value; a row of that size often has an unclosed quote.',
    example: `sku,product_name,brand\nLAMP-1,Head lamp,${'A'.repeat(256)}`,
  },
  invalid_character: {
    severity: 'error',
    description: 'A value contains a NUL character.',
    remedy: 'Remove the character; the file may be UTF-16, or a broken export.',
    example: 'sku,product_name\nLAMP-1,Head\0lamp',
  },
  invalid_quoting: {
    severity: 'error',
    description: 'Text follows a closing quote.',
    remedy: 'Double the quotes inside a quoted value.',
    example: 'sku,product_name\nLAMP-1,"Head" lamp',
  },
  duplicate_sku: {
    severity: 'error',
    description: 'A later valid row of the same feed has the same sku; the last one wins.',
    remedy: 'Keep one row per sku.',
    example: 'sku,product_name\nLAMP-1,Head lamp\nLAMP-1,Head lamp 2',
  },
  superseded_row: {
    severity: 'error',
    description:
      'The file has the columns `_line` and `_codes` of skipped rows, and this row was skipped only for `duplicate_sku`: a later row was used.',
    remedy: 'Leave the row out; to load it nevertheless, empty its `_codes`.',
    example: '_line,_codes,sku,product_name\n2,duplicate_sku,LAMP-1,Head lamp',
  },
  unknown_sku: {
    severity: 'error',
    description: 'The feed has mode `update`, and the partner has no product with this sku.',
    remedy: 'Correct the sku, or load the product with mode `upsert`.',
    example: 'sku,price\nLAMP-9,24.50',
  },
  suspicious_sku: {
    severity: 'warning',
    description:
      'The sku looks damaged: a spreadsheet\'s text formula (`="0042"`), apostrophe (`\'0042`) or exponent (`1.23457E+12`), or invisible characters. It is stored unchanged; a corrected file creates another product.',
    remedy:
      'Export the column as text, without invisible characters. Withdraw the product with the wrong sku.',
    example: 'sku,product_name\n1.23457E+12,Head lamp',
  },
  repeated_header: {
    severity: 'warning',
    description: 'The row repeats the header, as in joined files. It is skipped.',
    remedy: 'Remove the row, or ignore the warning.',
    example: 'sku,product_name\nLAMP-1,Head lamp\nsku,product_name',
  },
  unknown_availability: {
    severity: 'warning',
    description: 'Unknown availability: the value is stored, but the product cannot be ordered.',
    remedy:
      'Use in_stock, available, limited_stock, low_stock, preorder, backorder, out_of_stock, unavailable, sold_out or discontinued; or map the word in `availability` of a format.',
    example: 'sku,product_name,availability\nLAMP-1,Head lamp,ask us',
  },
  zero_price: {
    severity: 'warning',
    description: 'The price is 0.',
    remedy: 'If there is no price, leave the cell empty: this removes a stored price.',
    example: 'sku,product_name,price\nLAMP-1,Head lamp,0.00',
  },
  unknown_column: {
    severity: 'warning',
    description: 'The header has an unknown column; its cells are ignored. Reported once, on the header.',
    remedy:
      'Rename the column to a column of the format, or remove it. Names that begin with `_` are not reported.',
    example: 'sku,title,product_name\nLAMP-1,Lamp,Head lamp',
  },
  unmapped_column: {
    severity: 'warning',
    description:
      'The format has no source for a field that this column could have; its cells are ignored. Reported once per column, on the header, with a named format other than `standard`; not in mode `update` without a column of prices.',
    remedy:
      'Add the header to the columns of the format; ignore the warning if the column is something else.',
    example: 'id,title,price,currency\nLAMP-1,Head lamp,24.50 EUR,EUR',
  },
  no_prices: {
    severity: 'warning',
    description:
      'The format has a source for prices, but no valid row has a price. Reported once, on the header, with a named format other than `standard`; not in mode `update` without a column of prices, nor if empty cells keep the stored prices.',
    remedy: 'Check which header the format reads prices from, and that its cells are filled.',
    example: 'id,title,price\nLAMP-1,Head lamp,',
  },
  no_currency: {
    severity: 'warning',
    description:
      'Rows have prices, but no row has a currency. Reported once, on the header, with a named format other than `standard`; not if the stored currencies are kept.',
    remedy:
      'Add the header of the currency to the format, or its code as a constant; orders of products without a currency use the default one.',
    example: 'id,title,price\nLAMP-1,Head lamp,24.50',
  },
  price_jump: {
    severity: 'warning',
    description:
      'At least ten prices, and 5 % of all changed prices, rose or fell by a factor of five or more in the same currency. Reported once, on the header.',
    remedy:
      'Check decimal separator and currency. `max_price_jump_percent` of an upload fails such a run; revert a run that was wrong.',
    example: 'sku,product_name,price\nLAMP-1,Head lamp,24.50',
  },
  older_feed: {
    severity: 'warning',
    description:
      'A later feed of the partner was loaded before; this run may have replaced its values with older ones. Reported once, on the header.',
    remedy: 'Run the later feed again to restore its values.',
    example: 'sku,product_name\nLAMP-1,Head lamp',
  },
} as const satisfies Record<string, IssueCode>;

export type RowIssueCode = keyof typeof issueCodes;

/** All codes, in order. */
export const rowIssueCodes = Object.keys(issueCodes) as RowIssueCode[];
