import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export interface Answer {
  status: number;
  headers: Record<string, string | number | string[] | undefined>;
  body: Buffer;
}

/** Headers whose values contain a time, a random text, or its length. */
const volatileHeaders = ['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding'];
/** Longer bodies that are not JSON are reduced to a hash and their beginning. */
const bodyBytesMax = 16_384;

/**
 * Requests and responses as text, one value per line. Times, ports, speeds and random texts are omitted, and identifiers are
 * numbered in order of appearance: two services with the same behavior have the same text.
 */
export class Transcript {
  private readonly parts: string[] = [];
  /** By identifier. */
  private readonly numbers = new Map<string, string>();
  /** Number of identifiers, by kind. */
  private readonly counts = new Map<string, number>();
  answers = 0;

  /** @param constants - texts that differ between the services, each with its placeholder */
  constructor(private readonly constants: readonly [text: string, name: string][] = []) {}

  add(title: string, { status, headers, body }: Answer): void {
    const type = String(headers['content-type'] ?? '');
    const isJson = type.startsWith('application/json');
    // The tag of a file is a hash; other tags contain times.
    const isLeftOut = (name: string) =>
      volatileHeaders.includes(name) ||
      (name === 'etag' && headers['content-disposition'] === undefined) ||
      (name === 'content-length' && isJson);
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      isLeftOut(name) ? [] : [`${name}: ${String(value)}`],
    );
    this.addText(title, [String(status), ...lines.toSorted(), isJson ? jsonText(body) : fileText(body)]);
  }

  addText(title: string, lines: readonly string[]): void {
    this.answers++;
    const text = lines.join('\n').replaceAll('\n', '\n  ');
    this.parts.push(`${this.normalize(title)}\n  ${this.normalize(text)}\n`);
  }

  write(file: string): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, this.parts.join('\n'));
  }

  private normalize(text: string): string {
    return this.constants
      .reduce((changed, [constant, name]) => changed.replaceAll(constant, name), text)
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)?/g, '<time>')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
      .replace(/\bmsg_[0-9a-f]{32}/g, 'msg_<random>')
      .replace(/^(\s*id: )"[0-9a-f]{64}"/gm, '$1<event>')
      .replace(/^(\s*retry-after: )\d{3,}/gm, '$1<seconds>')
      .replace(/(_per_second": )[\d.]+/g, '$1<speed>')
      .replace(/\b(FD|JS|JV|PR|OR|OI)\d{5,}\b/g, (id, kind: string) => this.numberOf(id, kind));
  }

  private numberOf(id: string, kind: string): string {
    const known = this.numbers.get(id);
    if (known !== undefined) return known;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    this.numbers.set(id, `${kind}#${count}`);
    return `${kind}#${count}`;
  }
}

function jsonText(body: Buffer): string {
  try {
    return JSON.stringify(JSON.parse(body.toString()), undefined, 1);
  } catch {
    return body.toString();
  }
}

/** Escapes bytes that are not printable ASCII. */
function fileText(body: Buffer): string {
  const text = body
    .subarray(0, bodyBytesMax)
    .toString('latin1')
    .replace(/[^\n -~]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  if (body.length <= bodyBytesMax) return text;
  return `${text}\n… ${body.length} bytes, SHA-256 ${createHash('sha256').update(body).digest('hex')}`;
}
