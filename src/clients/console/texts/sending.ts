import type { Schemas } from '../api';
import { count } from '../locale';
import { rowsOf } from './nouns';

type Conditions = Schemas['QuantityCondition'][];

const unlessText = (conditions: Conditions) => {
  const parts = conditions.map(
    ({ header, values }) => `${header} is ${values.map((value) => value || 'empty').join(' or ')}`,
  );
  return `No stock status where ${parts.join(', or ')}`;
};

export const sendingTexts = {
  send: {
    title: 'Send a feed',
    lead: 'First you see how the file is read. Nothing is stored until you confirm.',
    partner: 'Partner',
    partnerHint: 'The partner that sells these products. A new name creates a new partner.',
    partnerMissing: 'Enter the name of the partner first. The file is kept.',
    drop: 'Drop a CSV file or an Excel workbook here',
    or: 'or',
    choose: 'Choose a file',
    chosen: 'Chosen:',
    check: 'Check this file',
    paste: 'Or paste rows, the header first',
    pasted: 'Check the rows',
    nothingPasted: 'Paste some rows first: a header, and at least one product.',
    pasteExample: 'sku,product_name,price,currency',
  },
  workbook: {
    title: 'Choose a sheet',
    opening: 'Opening the workbook…',
    reading: 'Reading the sheet…',
    making: 'Making the CSV file…',
    fault: 'This workbook cannot be read',
    hidden: 'Hidden',
    rows: (rows: number) => (rows === 0 ? 'empty' : rowsOf(rows)),
    withHidden: 'Take hidden rows and columns',
    withCurrency: (codes: string[]) => `Add a column currency (${codes.join(', ')})`,
    preview: 'First rows of the sheet',
    header: 'Row',
    headerLead: 'The marked row has the names of the columns. Choose another one if it is wrong.',
    headerAt: (row: number) => `Row ${row} has the names of the columns`,
    check: 'Check this sheet',
    save: 'Save the CSV',
    another: 'Choose another file',
    anotherSheet: 'Choose another sheet',
  },
  check: {
    title: 'About this file',
    lost: 'The file is no longer here',
    lostWay: 'The browser keeps one file at a time. Choose it again.',
    facts: 'Read as',
    encoding: 'Encoding',
    delimiter: 'Delimiter',
    delimiters: { ',': 'Comma', ';': 'Semicolon', '\t': 'Tab', '|': 'Bar' } as Record<string, string>,
    decimal: 'Decimals',
    decimals: { '.': 'Point', ',': 'Comma' } as Record<string, string>,
    skipped: 'Lines before the header',
    skus: 'Skus',
    knownSkus: (known: number, checked: number) => `${count(known)} of ${count(checked)} skus are known`,
    rows: (rows: number, isAll: boolean) => `${count(rows)} ${isAll ? 'rows' : 'rows read, more follow'}`,
    how: 'How to read it',
    own: 'By the mapping below',
    standard: 'As it is: our column names, UTF-8',
    builtIn: 'built in',
    mapping: 'Columns',
    mappingLead: 'Which column of the file has which value?',
    absent: 'Not in the file',
    fixed: 'The same for all rows…',
    fixedValue: (field: string) => `${field} of all rows`,
    constant: (value: string) => `“${value}” in all rows`,
    joined: (names: string) => `Joined: ${names}`,
    quantity: (names: string) => `Number of pieces: ${names}`,
    unless: unlessText,
    sample: 'First rows as products',
    sampleNone: 'No row would be loaded.',
    readsOtherwise:
      'With this format, none of the rows read would be loaded. Another choice of “How to read it” loads rows.',
    faults: 'Skipped rows among the rows read',
    name: 'Save as format',
    nameHint:
      'Lower-case letters, digits and hyphens. The format named default is used for every later file that is sent without a format.',
    nameFaults: {
      invalid: 'Enter 1 to 64 lower-case letters, digits or hyphens.',
      reserved: 'A built-in format has this name. Choose another one.',
    },
    replaceTitle: (name: string) => `Replace the format ${name}?`,
    replaceLead:
      'The format is saved with this file, and later files are read by it. Earlier feeds keep the old definition, but their mended rows are read by the new one. To keep the old format, close this dialog and choose another name.',
    replace: 'Replace it',
    members: {
      delimiter: 'Delimiter',
      encoding: 'Encoding',
      skip_lines: 'Lines before the header',
      header: 'First row',
      decimal_separator: 'Decimals',
      quote: 'Quotes around cells',
      only_rows_where: 'Rows that are read',
      text_marks: 'Text marks of spreadsheets',
      keep_when_empty: 'Empty cells keep the stored value',
      currency_from_sign: 'A sign is the currency',
    } as Record<string, string>,
    mode: 'How to load the file',
    modes: {
      upsert: 'Add and change products',
      replace: 'Replace: products that are not in the file are withdrawn',
      update: 'Change known products only (prices and stock)',
    },
    upload: 'Store the file and preview',
    noTable: 'This file cannot be read as a table',
    doubts: 'Questions about the file',
    answer: 'Its value',
    needsAnswers: 'Answer the questions about the file.',
    needsSku: 'Choose the column with the SKU, and the one with the name.',
  },
  transfer: {
    sending: 'Sending',
    storing: 'Sent. The service stores it…',
    sent: (sent: string, total: string) => `${sent} of ${total}`,
    cancel: 'Cancel',
    cancelled: 'Sending was cancelled. The file is still here: send it again, or choose another.',
    lost: (sent: string, total: string) =>
      `The connection was lost after ${sent} of ${total}. Check it, then try again: the file is stored once at most.`,
  },
  file: {
    pasted: 'pasted.csv',
    sample: 'sample.csv',
    samplePartner: 'Sample partner',
  },
};

/** A feed with two valid rows, and two that show issues. */
export const sampleFeed = `sku,product_name,category,price,currency,availability
TENT-2,Two-person tent,Camping/Tents,189.90,EUR,in stock
MAT-1,Sleeping mat,Camping/Sleeping,59.00,EUR,in stock
LAMP-1,Head lamp,Camping/Lamps,24.50 Euro,EUR,in stock
STOVE-1,,Camping/Cooking,49.00,EUR,limited stock
`;
