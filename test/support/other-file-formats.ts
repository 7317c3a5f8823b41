import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** Builds a ZIP archive with these files. */
export function zipArchive(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [fileName, content] of Object.entries(files)) {
    const name = Buffer.from(fileName);
    const data = Buffer.from(content as string);
    // A format may require an uncompressed first entry.
    const method = fileName === 'mimetype' ? 0 : 8;
    const packed = method === 0 ? data : deflateRawSync(data);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.concat([Buffer.from('504b0304', 'hex'), common, name, packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from('504b01021400', 'hex'), common, place, name]));
    local.push(entry);
    offset += entry.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(central.length, 8);
  end.writeUInt16LE(central.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...local, directory, end]);
}

/** Builds a workbook with Excel's layout. */
export const excelWorkbook = () =>
  zipArchive({
    '[Content_Types].xml': '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Types/>',
    '_rels/.rels': '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><Relationships/>',
    'xl/workbook.xml': '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><workbook/>',
    'xl/worksheets/sheet1.xml': '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><worksheet/>',
  });

const csv = 'sku,product_name,description\nTENT-2,Zelt für zwei,Leicht – und schnell aufgebaut\n';
const windows1252 = () => Buffer.from(csv.replace('–', '\x96'), 'latin1');

/** Files that are not CSV in UTF-8: their kind, and the code of the hint. */
export const filesOfOtherFormats: [what: string, code: string, file: Buffer][] = [
  ['an Excel workbook', 'excel_workbook', excelWorkbook()],
  ['a workbook of Excel 97', 'excel_97_workbook', Buffer.from(`d0cf11e0a1b11ae1${'00'.repeat(504)}`, 'hex')],
  [
    'a spreadsheet of LibreOffice',
    'opendocument_spreadsheet',
    zipArchive({ mimetype: 'application/vnd.oasis.opendocument.spreadsheet', 'content.xml': '<a/>' }),
  ],
  ['a ZIP archive', 'zip', zipArchive({ 'spring.csv': csv })],
  ['an empty ZIP archive', 'zip', zipArchive({})],
  ['a gzip file', 'gzip', gzipSync(csv)],
  ['a PDF document', 'pdf', Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n', 'latin1')],
  ['an HTML page', 'html', Buffer.from('\r\n<!DOCTYPE html>\n<html><body>Log in</body></html>')],
  ['a table in HTML', 'html', Buffer.from('<table><tr><td>sku</td></tr></table>')],
  [
    'an XHTML page',
    'html',
    Buffer.from('<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"/>'),
  ],
  ['XML', 'xml', Buffer.from('\ufeff<?xml version="1.0"?>\n<rss version="2.0"/>')],
  ['XML without a declaration', 'xml', Buffer.from('<g:products xmlns:g="x"/>')],
  ['a JSON array', 'json', Buffer.from('[\n  {"sku": "TENT-2", "product_name": "Tent"}\n]')],
  ['a JSON object', 'json', Buffer.from('{"products": []}')],
  ['UTF-16, little end first', 'utf_16', Buffer.from(`\ufeff${csv}`, 'utf16le')],
  ['UTF-16, big end first', 'utf_16', Buffer.from(`\ufeff${csv}`, 'utf16le').swap16()],
  ['UTF-16 without a mark, little end first', 'utf_16', Buffer.from(csv, 'utf16le')],
  ['UTF-16 without a mark, big end first', 'utf_16', Buffer.from(csv, 'utf16le').swap16()],
  ['Windows-1252', 'windows_1252', windows1252()],
];
