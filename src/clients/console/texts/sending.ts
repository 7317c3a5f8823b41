import type { components } from '../../../../generated/openapi';
import { count, plural } from '../locale';
import { columnsOf, productsOf, rowsOf } from './nouns';

const excelCsv =
  'In Excel, choose File > Save As, and the type “CSV UTF-8 (Comma delimited)”. Then choose the saved file here.';

type Conditions = components['schemas']['QuantityCondition'][];

const unlessText = (conditions: Conditions) => {
  const parts = conditions.map(
    ({ header, values }) => `${header} is ${values.map((value) => value || 'empty').join(' or ')}`,
  );
  return `No stock status where ${parts.join(', or ')}`;
};

export const sendingTexts = {
  send: {
    title: 'Send a feed',
    lead: 'You see how the file is read, then what it would change. Nothing is stored or loaded until you confirm.',
    steps: 'Steps',
    of: 'From',
    step: { file: 'File', check: 'Check', preview: 'Preview' },
    rows: 'Rows of a spreadsheet',
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
    of: 'from',
    sheets: 'Sheets',
    facts: (rows: number, columns: number) => `${rowsOf(rows)}, ${columnsOf(columns)}`,
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
    inspecting: 'Looking at the beginning of the file…',
    proposing: 'Looking for the format that reads it…',
    lost: 'The file is no longer here',
    lostWay: 'The browser keeps one file at a time. Choose it again.',
    encoding: 'Encoding',
    encodings: {
      'utf-8': 'UTF-8',
      'utf-16le': 'UTF-16',
      'utf-16be': 'UTF-16, big-endian',
      'windows-1250': 'Windows-1250 (Central European)',
      'windows-1251': 'Windows-1251 (Cyrillic)',
      'windows-1252': 'Windows-1252 (Western European)',
      'windows-1253': 'Windows-1253 (Greek)',
      'windows-1254': 'Windows-1254 (Turkish)',
      'windows-1255': 'Windows-1255 (Hebrew)',
      'windows-1256': 'Windows-1256 (Arabic)',
      'windows-1257': 'Windows-1257 (Baltic)',
      'windows-874': 'Windows-874 (Thai)',
      'iso-8859-1': 'ISO 8859-1 (Western European)',
      'iso-8859-2': 'ISO 8859-2 (Central European)',
      'iso-8859-15': 'ISO 8859-15 (Western European, with €)',
      shift_jis: 'Shift JIS (Japanese)',
      'euc-jp': 'EUC-JP (Japanese)',
      'euc-kr': 'EUC-KR (Korean)',
      gb18030: 'GB 18030 (Chinese)',
      big5: 'Big5 (Chinese, traditional)',
      unknown: 'Unknown encoding',
    } as Record<string, string>,
    delimiter: 'Delimiter',
    delimiters: { ',': 'Comma', ';': 'Semicolon', '\t': 'Tab', '|': 'Bar' } as Record<string, string>,
    decimal: 'Decimals',
    decimals: { '.': 'Point', ',': 'Comma' } as Record<string, string>,
    decimalExamples: { '.': 'Point, as in 1,234.50', ',': 'Comma, as in 1.234,50' } as Record<string, string>,
    factOf: {
      delimiter: { ',': 'commas between cells', ';': 'semicolons', '\t': 'tabs', '|': 'bars' } as Record<
        string,
        string
      >,
      decimal: { '.': 'decimal point', ',': 'decimal comma' } as Record<string, string>,
      skipped: (lines: number) => `header in line ${count(lines + 1)}`,
    },
    skipped: 'Lines before the header',
    knownSkus: (known: number, checked: number) =>
      known === 0
        ? 'all products are new'
        : known === checked
          ? 'all products are known'
          : `${count(known)} of ${productsOf(checked)} known`,
    rows: (rows: number, isAll: boolean) =>
      isAll ? rowsOf(rows) : `first ${rowsOf(rows)} read, more follow`,
    how: 'How to read it',
    own: 'By the columns chosen below',
    standard: 'As it is: its columns have our names',
    byFormat: (name: string) => `By the saved format “${name}”`,
    byBuiltIn: (name: string) => `As an export of ${name}`,
    mapping: 'Columns',
    column: 'Catalog',
    source: 'Column of the file',
    examples: 'First values',
    unused: 'Not used:',
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
    faults: 'What is wrong with rows',
    save: 'Remember how this file is read',
    saveLead:
      'Once the file is stored, its columns are saved as a format: the next file of this partner is then read in the same way. If storing fails, nothing is saved.',
    saveDefault:
      'The format named default also reads files that arrive without a format, for example through the API.',
    name: 'Save as format',
    nameHint: 'Lower-case letters, digits and hyphens.',
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
      keep_when_empty: 'Empty cells keep the stored value of',
      currency_from_sign: 'A sign is the currency',
      fields: 'Cells per row',
      null_values: 'Cells that count as empty',
      availability: 'Words for the stock',
      fill_down: 'Empty cells repeat the value above',
      ignore_rows_without: 'Rows are left out without',
    } as Record<string, string>,
    memberValues: {
      yes: 'Yes',
      no: 'No',
      strip: 'Removed',
      empty: 'empty',
      words: (word: string, meaning: string) => `“${word}” is ${meaning}`,
      quoted: (text: string) => `“${text}”`,
      rowsWhere: (header: string, values: string) => `${header} is ${values}`,
      or: ' or ',
    },
    mode: 'How to load the file',
    modes: {
      upsert: 'Add and change products',
      replace: 'Replace the catalog',
      update: 'Change prices and stock only',
    },
    modeNotes: {
      upsert: 'New products are added, known ones are changed. Products that are not in the file stay.',
      replace: 'The file is the whole catalog: products that are not in it are withdrawn.',
      update: 'Only products that are known already are changed. Names are not needed.',
    },
    upload: 'Store the file and preview',
    ready: 'Nothing is stored yet, and storing loads nothing: you see the changes first.',
    noTable: 'This file cannot be read as a table',
    steps: 'What to do',
    doubts: (questions: number) =>
      `${count(questions)} ${plural(questions, { one: 'question', other: 'questions' })} about the file`,
    doubtsLead:
      'The file alone does not tell. Below each answer are the first rows as products, if it is right.',
    answer: 'Its value',
    needsAnswers: 'Answer the questions about the file.',
    needsName: 'Correct the name of the format at the end of this page.',
    needsSku: 'Choose the column with the SKU, and the one with the name.',
  },
  /** What to do with a file of another kind, in words of menus. */
  otherFiles: {
    excel_workbook: [excelCsv],
    excel_97_workbook: [
      'Open the file in Excel.',
      'Choose File > Save As, and the type “Excel Workbook (.xlsx)”.',
      'Choose the saved file here.',
    ],
    opendocument_spreadsheet: [
      'Open the file in LibreOffice.',
      'Choose File > Save As, and the type “Excel 2007-365 (.xlsx)” or “Text CSV (.csv)”. For CSV, choose the character set UTF-8.',
      'Choose the saved file here.',
    ],
    numbers: [
      'Open the file in Numbers.',
      'Choose File > Export To > Excel, and save it.',
      'Choose the saved file here.',
    ],
    pdf: [
      'Ask the partner for the spreadsheet from which the PDF was made: a PDF has no cells.',
      'Or open it in Excel: Data > Get Data > From File > From PDF, choose the table, then Load.',
      excelCsv,
    ],
    json: [
      'If the partner’s shop can export CSV, use that export.',
      'Or open it in Excel: Data > Get Data > From File > From JSON, then To Table, and Close & Load.',
      excelCsv,
    ],
    xml: [
      'If the partner’s shop can export CSV, use that export.',
      'Or open it in Excel: Data > Get Data > From File > From XML, choose the table, then Load.',
      excelCsv,
    ],
    html: [
      'The partner’s site sent a page instead of the file, often because of a sign-in. Download the file there.',
      'Choose the downloaded file here.',
    ],
    zip: [
      'Open the archive: a double click, or “Extract All” in its menu on Windows.',
      'Choose the CSV file or workbook in it here.',
    ],
    gzip: [
      'Unpack the file, for example with 7-Zip: 7-Zip > Extract Here.',
      'Choose the CSV file in it here.',
    ],
    utf_16: [excelCsv],
    windows_1252: [excelCsv],
    unknown_encoding: [excelCsv],
  } as Record<string, string[]>,
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
