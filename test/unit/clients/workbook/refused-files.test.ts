import fc from 'fast-check';
import { csvLimits } from '../../../../src/clients/workbook/sheet-csv';
import { Workbook } from '../../../../src/clients/workbook/workbook';
import { WorkbookFault } from '../../../../src/clients/workbook/workbook-fault';
import { zipLimits } from '../../../../src/clients/workbook/zip-archive';
import { zipArchive } from '../../../support/other-file-formats';
import { casesFor } from '../../../support/fuzz';
import { workbookFile, type TestWorkbook } from '../../../support/workbooks';

const small: TestWorkbook = {
  sheets: [
    {
      rows: [
        ['sku', 'name', 'price'],
        ['A1', 'Cup', 5],
      ],
    },
  ],
};

/** Reads a whole workbook. @returns why it cannot be read */
function faultOf(bytes: Uint8Array): string | undefined {
  try {
    const workbook = new Workbook(bytes, 'feed.xlsx');
    for (const { name, rowCount } of workbook.overviews) if (rowCount > 1) workbook.csv({ sheet: name });
    return undefined;
  } catch (error) {
    if (error instanceof WorkbookFault) return error.message;
    throw error;
  }
}

const withParts = (parts: Record<string, string | Buffer>) => faultOf(workbookFile({ ...small, parts }));
const withSheet = (xml: string) => withParts({ 'xl/worksheets/sheet1.xml': xml });
const damaged =
  'The workbook is damaged or incomplete. Copy or download it again, or save it again in Excel.';
const ole = Buffer.from('d0cf11e0a1b11ae1', 'hex');

describe('files that are no workbook (.xlsx)', () => {
  it.each([
    ['an empty file', Buffer.alloc(0), 'The file is empty'],
    ['a text', Buffer.from('sku,name\n'), 'is no Excel workbook (.xlsx), although its name says so'],
    [
      'an encrypted workbook',
      Buffer.concat([ole, Buffer.alloc(600), Buffer.from('EncryptedPackage', 'utf16le')]),
      'has a password',
    ],
    ['a workbook of Excel 97', Buffer.concat([ole, Buffer.alloc(600)]), 'Excel 97-2003 (.xls)'],
    ['a binary workbook', zipArchive({ '[Content_Types].xml': '', 'xl/workbook.bin': 'x' }), '(.xlsb)'],
    ['a workbook with macros', workbookFile({ ...small, parts: { 'xl/vbaProject.bin': 'x' } }), 'has macros'],
    ['an OpenDocument file', zipArchive({ mimetype: 'x', 'content.xml': '<x/>' }), '(.ods)'],
    ['a file of Numbers', zipArchive({ 'Index/Document.iwa': 'x' }), 'Apple Numbers'],
    ['another archive', zipArchive({ 'feed.csv': 'sku' }), 'ZIP archive and no workbook'],
    [
      'a document',
      zipArchive({
        '_rels/.rels':
          '<Relationships><Relationship Id="a" Type="x/officeDocument" Target="word/document.xml"/></Relationships>',
        'word/document.xml': '<x/>',
      }),
      'is a document and no workbook',
    ],
    ['a workbook without sheets', workbookFile({ sheets: [] }), 'has no sheet with cells'],
    [
      'a workbook without values',
      workbookFile({ sheets: [{ rows: [[null]] }] }),
      'No sheet of the workbook has a cell with a value',
    ],
  ])('are refused with what to do: %s', (_, bytes, message) => {
    expect(faultOf(bytes)).toContain(message);
    expect(faultOf(bytes)).toMatch(/\.$/);
  });
});

describe('damaged and hostile workbooks', () => {
  it('are refused wherever they are cut off', () => {
    const whole = workbookFile(small);
    expect(faultOf(whole)).toBeUndefined();
    for (let length = 2; length < whole.length; length += 7)
      expect(faultOf(whole.subarray(0, length))).toBe(damaged);
  });

  it('end with a sentence or are read, whatever byte differs', () => {
    const whole = workbookFile(small);
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = Buffer.from(whole);
        bytes[at]! ^= change;
        expect(typeof (faultOf(bytes) ?? '')).toBe('string');
      }),
      casesFor('damaged workbooks', 300),
    );
  });

  it('are refused for document types, unknown entities, deep elements and text that is no XML', () => {
    const deep = 1000;
    expect(withSheet('<!DOCTYPE x [<!ENTITY a "aa">]><worksheet/>')).toBe(damaged);
    expect(withSheet('<worksheet><sheetData><row><c><v>&a;</v></c></row></sheetData></worksheet>')).toBe(
      damaged,
    );
    expect(withSheet('<a>'.repeat(deep) + '</a>'.repeat(deep))).toBe(damaged);
    expect(withSheet('<worksheet><sheetData>')).toBe(damaged);
    expect(withParts({ 'xl/sharedStrings.xml': 'no XML' })).toBe(damaged);
  });

  it('are refused for cells beyond the sheet and strings that are missing', () => {
    const row = (xml: string) => withSheet(`<worksheet><sheetData>${xml}</sheetData></worksheet>`);
    expect(row('<row r="1048577"/>')).toBe(damaged);
    expect(row('<row r="0"/>')).toBe(damaged);
    expect(row('<row r="1"><c r="XFE1"><v>1</v></c></row>')).toBe(damaged);
    expect(row('<row r="1"><c r="1"><v>1</v></c></row>')).toBe(damaged);
    expect(row('<row r="1"><c r="A1" t="s"><v>999</v></c></row>')).toBe(damaged);
    expect(row(`<row r="1">${'<c r="A1"><v>1</v></c>'.repeat(16_385)}</row>`)).toBe(damaged);
  });

  it('are refused for too many parts and sheets', () => {
    const parts = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`x/${at}`, '']));
    expect(withParts(parts)).toBe(
      'The workbook has more than 10000 parts. Copy the sheet into a new workbook, and use that one.',
    );
    const sheets = '<sheet name="a" r:id="rId1"/>'.repeat(1001);
    expect(withParts({ 'xl/workbook.xml': `<workbook><sheets>${sheets}</sheets></workbook>` })).toContain(
      'more than 1000 sheets',
    );
  });

  it('are refused when more than the limit is unpacked, whatever sizes the archive declares', () => {
    expect(zipLimits.unpackedBytes).toBe(512 * 1024 ** 2);
    jest.replaceProperty(zipLimits, 'unpackedBytes', 1024 ** 2);
    const bomb = `<sst>${' '.repeat(2 * 1024 ** 2)}</sst>`;
    const file = workbookFile({ ...small, parts: { 'xl/sharedStrings.xml': bomb } });
    expect(file.length).toBeLessThan(10_000);
    expect(faultOf(file)).toContain('unpacked, it has more than 512 MiB');
    const declared = Buffer.alloc(4);
    declared.writeUInt32LE(bomb.length);
    // In the headers of the entry and of the directory.
    for (const at of [file.indexOf(declared), file.lastIndexOf(declared)]) file.writeUInt32LE(100, at);
    expect(file.indexOf(declared)).toBe(-1);
    expect(faultOf(file)).toContain('unpacked, it has more than 512 MiB');
  });

  it('are refused when a repeated text makes the CSV file too large', () => {
    expect(csvLimits.bytes).toBe(512 * 1024 ** 2);
    jest.replaceProperty(csvLimits, 'bytes', 1024 ** 2);
    const text = 'x'.repeat(20 * 1024);
    const rows = Array.from({ length: 100 }, () => '<row><c t="s"><v>0</v></c></row>').join('');
    const file = workbookFile({
      sheets: [{ xml: `<worksheet><sheetData>${rows}</sheetData></worksheet>` }],
      sharedItems: [`<t>${text}</t>`],
    });
    expect(faultOf(file)).toContain('as CSV it has more than 512 MiB');
  });
});
