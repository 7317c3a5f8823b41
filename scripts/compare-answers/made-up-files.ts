import { gzipSync } from 'node:zlib';
import iconv from 'iconv-lite';
import type { FeedFile, Part } from './client';

/** A file for both services. */
export interface FileToTry extends FeedFile {
  what: string;
  /** An additional format definition for the file. */
  definition?: object;
}

const head = 'sku,product_name,price,currency,availability';
const rows = 'A,Tent,1.50,EUR,in stock\nB,"Lamp, ""big""",NA,EUR,\nC,,3,EUR,sold out\nA,Tent,2,EUR,x\n';
const table = `${head}\n${rows}`;
const many = Array.from({ length: 300 }, (_, at) => `S${at},Product ${at},${at}.5,EUR,\n`).join('');
const euro = 'sku;product_name;price\nÄ1;Zelt für 2 – groß;1.299,00\nB;Größe;12,5\nC;€;1.5\n';
const japanese = 'sku,product_name,price\nA,テント ソ表,1000\nB,ランプ,20\n';
const chinese = 'sku,product_name,price\nA,帐篷㐀,1000\nB,灯,20\n';
const german = { sku: { from: ['Nr'] }, product_name: { from: ['Name'] }, price: { from: ['Preis'] } };
const positions = { sku: { position: 1 }, product_name: { position: 2 }, price: { position: 3 } };
const own = { sku: { from: ['sku'] }, product_name: { from: ['product_name'] }, price: { from: ['price'] } };

const text = (what: string, content: string, definition?: object): FileToTry => ({
  what,
  name: 'feed.csv',
  bytes: Buffer.from(content),
  ...(definition && { definition }),
});
const bytes = (what: string, content: Buffer, definition?: object): FileToTry => ({
  ...text(what, '', definition),
  bytes: content,
});
const called = (name: string, mediaType?: string, content = table): FileToTry => ({
  ...text(`called ${name}, ${mediaType ?? 'text/csv'}`, content),
  name,
  ...(mediaType !== undefined && { mediaType }),
});
const packed = (what: string, content: Buffer, name = 'feed.csv.gz'): FileToTry => ({
  ...bytes(what, content),
  name,
});
const broken = (change: (file: Buffer) => void) => {
  const file = gzipSync(table + many);
  change(file);
  return file;
};
const utf16 = (content: string, bigEndian = false) => {
  const file = Buffer.from(content, 'utf16le');
  return bigEndian ? file.swap16() : file;
};
/** Inserts a byte that is no character in the middle. */
const undecodable = (encoding: string, content: string, byte: number) =>
  Buffer.concat([iconv.encode(content, encoding), Buffer.from([0x44, 0x2c, byte, 0x2c, 0x31, 0x0a])]);
const inEncoding = (encoding: string, content: string): FileToTry =>
  bytes(encoding, iconv.encode(content, encoding), { encoding, columns: own });

/** Files that are hard to parse. */
export const madeUpFiles: FileToTry[] = [
  text('plain', table, { columns: own, null_values: ['NA'] }),
  text('many rows', `${head}\n${many}`),
  text('without last line end', table.trimEnd()),
  text('CRLF', table.replaceAll('\n', '\r\n')),
  text('lone CR', table.replaceAll('\n', '\r')),
  text('mixed line ends', `${head}\r\nA,Tent\rB,Lamp\nC,"x\r\ny\rz\nw"\r\r\nD,Mat\r`),
  text('line breaks in cells', `${head}\nA,"Te\nnt",1,,\nB,"La\r\nmp",x,,\nC,"\r",NA,,\n`),
  text('byte order mark', `\ufeff${table}`),
  text('two byte order marks', `\ufeff\ufeff${table}`),
  text('byte order mark and quotes', `\ufeff"sku","product_name"\n"A","Tent"\n`),
  bytes('UTF-16 LE with mark', utf16(`\ufeff${table}`), { encoding: 'utf-16le', columns: own }),
  bytes('UTF-16 BE with mark', utf16(`\ufeff${table}`, true), { columns: own }),
  bytes('UTF-16 LE without mark', utf16(table), { encoding: 'utf-16le', columns: own }),
  bytes('UTF-16 BE without mark', utf16(table, true), { encoding: 'utf-16be', columns: own }),
  bytes('UTF-16 of odd length', utf16(`\ufeff${table}`).subarray(0, -1), { columns: own }),
  bytes('UTF-16 with a lone surrogate', utf16(`\ufeff${head}\nA,Te\ud800nt,NA,,\n`)),
  text('UTF-8 read as UTF-16', table, { encoding: 'utf-16le', columns: own }),
  text('sep= line', `sep=;\n${table.replaceAll(',', ';')}`),
  text('sep= line, CRLF and mark', `\ufeffsep=;\r\n${table.replaceAll(',', ';').replaceAll('\n', '\r\n')}`),
  text('sep= line of another delimiter', `sep=|\nsku|product_name|price\nA|Tent|1\nB|Lamp|NA\n`),
  text('sep= line with lone CR', `sep=,\r${table.replaceAll('\n', '\r')}`),
  text('sep= line, quoted', `"sep=;"\n${table.replaceAll(',', ';')}`),
  text('sep= line and skipped lines', `sep=;\nPrices\n\nNr;Name;Preis\nA;Tent;1,5\nB;Lamp;NA\n`, {
    skip_lines: 2,
    decimal_separator: ',',
    columns: german,
  }),
  text('sep= line alone', 'sep=;\n'),
  ...[';', '\t', '|', ':'].map((delimiter) =>
    text(`delimiter ${JSON.stringify(delimiter)}`, table.replaceAll(',', delimiter), {
      delimiter: '|',
      columns: own,
    }),
  ),
  text('two delimiters', 'sku;product_name,x;price\nA;Tent,y;1\n'),
  text('blanks behind closing quotes', `"sku" ,"product_name"  ,price\n"A" ,"Tent"\t,1\n"B"  ,"Lamp" x,2\n`),
  text('blanks before quotes', `sku, "product_name",price\nA, "Tent, big",1\nB,  "Lamp",NA\n`),
  text('text behind a closing quote', `${head}\nA,"Te"nt,1,,\nB,"Lamp" "x",2,,\nC,Mat,3,,\n`),
  text('quotes within', `${head}\nA,Te"nt,1,,\nB,La""mp,NA,,\nC,7" Mat,3,,\n`),
  text('unclosed quote', `${head}\nA,Tent,1,,\nB,"Lamp,2,,\nC,Mat,3,,\n`),
  text('unclosed quote at the end', `${head}\nA,Tent,1,,\nB,"`),
  text('unclosed quote in the header', `sku,"product_name\nA,Tent\n`),
  text('misquoted header', `sku,"product"_name,price\nA,Tent,1\n`),
  text('header with quotes and line break', `"sku","product\n_name","product_name"\nA,x,Tent\n`),
  text('blank lines before the header', `\n \n\r\n${table}`),
  text('blank lines between', table.replaceAll('\n', '\n\n')),
  text('lines of blanks and delimiters', `${head}\n  \n,,,,\n ,\t, , ,\n${rows}`),
  text('empty', ''),
  text('blank', ' \n\t\n'),
  text('byte order mark alone', '\ufeff'),
  text('header alone', head),
  text('trailing delimiters', table.replaceAll('\n', ',\n')),
  text('trailing delimiters in the rows', `${head}\n${rows.replaceAll('\n', ',\n')}`),
  text('trailing delimiters in the header', `${head},\n${rows}`),
  text('two trailing delimiters', table.replaceAll('\n', ',,\n'), { columns: own }),
  text('short and long rows', `${head}\nA\nB,Lamp,1,EUR,in stock,x,y\nC,Mat,1\n`),
  text('duplicate header', 'sku,product_name,price, PRICE \nA,Tent,1,2\n', { columns: own }),
  text('duplicate header of others', 'sku,product_name,x,x,\nA,Tent,1,2,3\n', { columns: own }),
  text('headers in capitals and blanks', ' SKU ,\u00a0Product_Name,PRICE\nA,Tent,1\n'),
  text('other headers', 'Nr,Name,Preis\nA,Tent,1\nB,Lamp,NA\n', { columns: german }),
  text('only sku and price', 'sku,price\nA,1\nB,NA\n', { columns: { sku: own.sku, price: own.price } }),
  text('repeated header', `${table}${table}`),
  text('NUL', `${head}\nA,Te\0nt,1,,\nB\0,Lamp,NA,,\n`),
  text('NUL in the header', `sku,product_name,pri\0ce\nA,Tent,1\n`),
  text('header of more than 256 KiB', `${head},${'x'.repeat(262_144)}\n${rows}`),
  text('header of nearly 256 KiB', `${head},${'x'.repeat(262_144 - head.length - 3)}\n${rows}`),
  text('record of more than 512 KiB', `${head}\nA,"${'x'.repeat(600_000)}",1,,\nB,Lamp,NA,,\nC,Mat,1,,\n`),
  text('record that is split across chunks', `${head}\nA,"${'x\ny'.repeat(60_000)}",1,,\nB,Lamp,NA,,\n`),
  text('many skipped rows', `${head}\n${many.replaceAll('.5', ',5')}`),
  text(
    'special cells',
    `${head}\n=1+1,"@SUM(A1)",1e3,EUR,\n00012,Emoji \u{1f3d5},"1,234.50",usd,ja\n'x,-,$5,€,\n`,
  ),
  text(
    'rejects, mended',
    `_line,_codes,_messages,${head}\n2,invalid_price,x,A,Tent,1,EUR,\n3,duplicate_sku,x,B,Lamp,1,,\n`,
  ),
  text(
    'fill down',
    'Gruppe,Nr,Name,Preis\nZelte,A,Tent,1\n,B,,2\n,"C"x,,3\nLampen,D,Lamp,NA\n,E,,5\n,F,Mat\n',
    {
      columns: { ...german, category: { from: ['Gruppe'] } },
      fill_down: [{ column: 'product_name', by: 'Gruppe' }, { column: 'category' }],
      ignore_rows_without: ['Nr', 'Preis'],
    },
  ),
  text('fill down, reversed', 'Nr,Name,Preis,Gruppe\nA,Tent,1,1\nB,,NA,1\nC,"x,2,1\nD,,3,2\n', {
    columns: german,
    fill_down: [{ column: 'product_name', by: 'Gruppe' }],
  }),
  text('without header row', rows, { header: false, columns: positions }),
  text('without header row, with fields', `\ufeffx\n${rows}D,Mat\n`, {
    header: false,
    fields: 5,
    skip_lines: 1,
    columns: { ...positions, currency: { value: 'EUR' } },
  }),
  text('skipped lines', `Prices "of\nspring\n\n${table}`, { skip_lines: 3, columns: own }),
  text('more skipped lines than there are', table, { skip_lines: 900, columns: own }),
  text('joined', 'Nr,Name,Farbe,Größe\nA,Tent,red,\nB,,,\nC,Mat,,XL\n', {
    columns: {
      sku: german.sku,
      product_name: { join: ['Name', 'Farbe', 'Größe'], with: ' / ', first_with: ' - ' },
    },
  }),
  text('decimal comma', euro, { decimal_separator: ',', delimiter: ';', columns: own }),
  inEncoding('windows-1252', euro),
  inEncoding('iso-8859-15', euro),
  inEncoding('windows-1251', 'sku,product_name,price\nA,Палатка,1\n'),
  inEncoding('shift_jis', japanese),
  inEncoding('euc-jp', japanese),
  inEncoding('gb18030', chinese),
  inEncoding('big5', 'sku,product_name,price\nA,帳篷,1\n'),
  bytes('windows-1252, undecodable', undecodable('windows-1252', table, 0x81), {
    encoding: 'windows-1252',
    columns: own,
  }),
  bytes('shift_jis, undecodable', undecodable('shift_jis', japanese, 0xfd), {
    encoding: 'shift_jis',
    columns: own,
  }),
  bytes('gb18030, undecodable', undecodable('gb18030', chinese, 0xff), { encoding: 'gb18030', columns: own }),
  bytes('UTF-8, undecodable', undecodable('utf-8', table, 0xff), { columns: own }),
  bytes('UTF-8, cut', Buffer.from(`${table}D,ä`).subarray(0, -1)),
  packed('gzip', gzipSync(table)),
  packed('gzip of a table with tabs', gzipSync(table.replaceAll(',', '\t')), 'feed.tsv.gz'),
  packed('gzip of UTF-16', gzipSync(utf16(`\ufeff${table}`))),
  packed('gzip, called feed.csv', gzipSync(table), 'feed.csv'),
  packed('gzip, called feed.txt', gzipSync(table), 'feed.txt'),
  packed('gzip twice', gzipSync(gzipSync(table))),
  packed('gzip in two members', Buffer.concat([gzipSync(head), gzipSync(`\n${rows}`)])),
  packed('gzip, truncated', broken((file) => file).subarray(0, 700)),
  packed(
    'gzip with a wrong checksum',
    broken((file) => file.fill(0, file.length - 8, file.length - 4)),
  ),
  packed(
    'gzip, broken in the middle',
    broken((file) => file.fill(0xff, 300, 320)),
  ),
  packed('gzip of nothing', gzipSync('')),
  packed('no gzip', Buffer.from(table)),
  packed('gzip with text behind', Buffer.concat([gzipSync(table), Buffer.from('D,Mat,1,,\n')])),
  called('feed.tsv', 'text/tab-separated-values', table.replaceAll(',', '\t')),
  called('feed.TXT', 'text/plain'),
  called('feed.txt', 'text/csv'),
  called('feed', 'application/csv'),
  called('feed', 'application/octet-stream'),
  called('feed.csv', 'image/png'),
  called('feed.csv', 'application/octet-stream'),
  called('feed.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'),
  called('FEED.CSV', 'application/vnd.ms-excel'),
  text('JSON', '[{"sku": "A"}]'),
  text('HTML', '<!DOCTYPE html><table><tr><td>sku</td></tr></table>'),
  bytes('a ZIP archive', Buffer.from(`504b0506${'00'.repeat(18)}`, 'hex')),
];

const file: FeedFile = { name: 'feed.csv', bytes: Buffer.from(table) };
const partner: Part = ['partner_name', 'Forms'];
const definition = (value: object): Part => ['format_definition', JSON.stringify(value)];

/** Forms of uploads and inspections with wrong parts, or parts in another order. */
export const forms: Part[][] = [
  [],
  [partner],
  [file],
  [file, partner],
  [partner, file, file],
  [partner, ['partner_name', 'Others'], file],
  [['partner_name', ' '], file],
  [partner, ['format', 'unknown'], file],
  [partner, ['format', 'Wrong Name'], file],
  [partner, ['format', ''], file],
  [partner, ['format', 'standard'], ['format', 'shopify'], file],
  [partner, ['mode', 'other'], file],
  [partner, ['mode', 'update'], ['mode', 'replace'], file],
  ...(['format', 'mode', 'collection', 'max_skipped_percent', 'format_definition'] as const).map(
    (name): Part[] => [partner, file, [name, 'standard']],
  ),
  [partner, ['collection', 'winter'], ['mode', 'replace'], file],
  [partner, ['collection', 'Not One'], file],
  [partner, ['max_skipped_percent', '10'], ['max_price_jump_percent', '1'], file],
  [partner, ['max_skipped_percent', 'many'], file],
  [partner, ['format_definition', '{'], file],
  [partner, definition({}), file],
  [partner, definition({ columns: { sku: { from: ['sku'] } } }), file],
  [partner, ['mode', 'update'], definition({ columns: { sku: { from: ['sku'] } } }), file],
  [partner, definition({ columns: { sku: { from: ['Nr'] }, product_name: { from: ['Name'] } } }), file],
  [partner, definition({ columns: own, encoding: 'utf-16le' }), file],
  [partner, ['format', 'standard'], definition({ columns: own }), file],
  [partner, ['format', 'mine'], definition({ columns: own }), file],
  [partner, ['format', 'mine'], file],
  [partner, definition({ columns: own, delimiter: ',' }), file],
  [partner, file],
  [partner, ['format', 'standard'], file],
];
