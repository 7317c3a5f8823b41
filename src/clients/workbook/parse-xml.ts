import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { WorkbookFault } from './workbook-fault';
import { damaged } from './zip-archive';

export type XmlAttributes = Readonly<Record<string, string>>;

/** Gets the elements of a part by their names without prefix. */
export interface XmlHandler {
  open(name: string, attributes: XmlAttributes): void;
  close?(name: string): void;
  /** Text or CDATA; the text of an element may come in pieces. */
  text?(text: string): void;
}

/** Elements within each other; Excel writes fewer than 20. */
const depthMax = 100;

/**
 * Parses a part of a workbook in UTF-8 or UTF-16 piece by piece, and yields after each piece. An empty part has nothing.
 * @throws WorkbookFault for text that is not well-formed, has a document type, or is nested too deep
 */
export function* parseXml(pieces: Iterable<Uint8Array>, handler: XmlHandler): Generator<void> {
  const parser = xmlParser(handler);
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for (const piece of pieces) {
    decoder ??= new TextDecoder(encodingOf(piece));
    write(parser, decoder.decode(piece, { stream: true }));
    yield;
  }
  if (!decoder) return;
  write(parser, decoder.decode());
  write(parser, null);
  yield;
}

/** Parses a part at once. @throws WorkbookFault as `parseXml` */
export function parseWholeXml(pieces: Iterable<Uint8Array>, handler: XmlHandler): void {
  for (const _ of parseXml(pieces, handler));
}

/** Tells the encoding of a part by its first bytes: `<`, or a byte order mark. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff || second === 0) return 'utf-16le';
  return first === 0xfe || first === 0 ? 'utf-16be' : 'utf-8';
}

type Parser = SaxesParser<{ xmlns: false; position: false }>;

function xmlParser(handler: XmlHandler): Parser {
  const parser: Parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  parser.on('doctype', () => {
    throw damaged();
  });
  parser.on('opentag', ({ name, attributes }: SaxesTagPlain) => {
    depth++;
    if (depth > depthMax) throw damaged();
    handler.open(localName(name), attributes);
  });
  parser.on('closetag', ({ name }) => {
    depth--;
    handler.close?.(localName(name));
  });
  const text = (each: string) => handler.text?.(each);
  parser.on('text', text);
  parser.on('cdata', text);
  return parser;
}

function write(parser: Parser, text: string | null): void {
  try {
    if (text === null) parser.close();
    else parser.write(text);
  } catch (error) {
    throw error instanceof WorkbookFault ? error : damaged();
  }
}

/** Returns a name without its prefix. */
export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
