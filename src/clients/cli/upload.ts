import { randomUUID } from 'node:crypto';
import type { components } from '../../../generated/openapi';
import { exitCodes, Failure } from './failures';
import type { FeedFile } from './feed-file';
import { printable } from './printable';
import { sendingBody, type StreamedBody } from './send-body';
import type { Session } from './session';

export type Receipt = components['schemas']['FeedReceipt'];

/** Uploads a file idempotently. @param fields - further fields of the form @throws Failure */
export function uploadFeed(
  session: Session,
  file: FeedFile,
  partnerName: string,
  fields: Record<string, string>,
): Promise<Receipt> {
  const { service } = session;
  const key = { 'idempotency-key': randomUUID() };
  const sent = formSender(session, 'the upload', file, { partner_name: partnerName, ...fields });
  return service.askFor(
    'the upload',
    ['a receipt', 'validation_job_id'],
    () => service.api.POST('/feeds/upload', sent(key)),
    // 409: an attempt with a broken connection is still in progress.
    { retriedStatuses: [409] },
  );
}

/**
 * Makes the options of each attempt to send a file as a form, whose progress is shown.
 * @returns a function that throws Failure when the file cannot be read again
 */
export function formSender({ view }: Session, what: string, file: FeedFile, fields: Record<string, string>) {
  const form = new UploadForm(file, fields);
  return (headers: Record<string, string> = {}) => {
    let done = 0;
    const body = form.body((bytes) => {
      done += bytes;
      view.show({ name: 'uploading', bytes: { done, total: file.size }, detail: printable(file.name) });
    });
    if (!body) {
      const problem = `Part of ${what} was sent before the connection was interrupted`;
      throw new Failure(exitCodes.unavailable, `${problem}; standard input cannot be read again.`);
    }
    return {
      headers: { ...headers, 'content-type': form.contentType },
      fetch: sendingBody(body),
      // `fetch` sends the form.
      body: undefined as never,
    };
  };
}

class UploadForm {
  readonly contentType: string;
  private readonly head: Buffer;
  private readonly tail: Buffer;

  constructor(
    private readonly file: FeedFile,
    fields: Record<string, string>,
  ) {
    const boundary = `feed-${randomUUID()}`;
    this.contentType = `multipart/form-data; boundary=${boundary}`;
    // The fields come first, so that a wrong key is refused before the file is sent.
    const parts = Object.entries(fields).map(
      ([name, value]) =>
        `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    this.head = Buffer.from(
      `${parts.join('')}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted(file.name)}"\r\n` +
        'Content-Type: text/csv\r\n\r\n',
    );
    this.tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  }

  /** Makes the body of an attempt; undefined if the file cannot be read again. `onSent` gets the number of sent bytes of the file. */
  body(onSent: (bytes: number) => void): StreamedBody | undefined {
    const content = this.file.read();
    if (!content) return undefined;
    const { head, tail } = this;
    const { size: fileSize } = this.file;
    const size = fileSize === undefined ? undefined : head.length + fileSize + tail.length;
    return {
      size,
      async *pieces() {
        yield head;
        yield* content;
        yield tail;
      },
      onSent: (piece) => onSent(piece === head || piece === tail ? 0 : piece.length),
    };
  }
}

/** Escapes a file name by the HTML standard ("multipart/form-data encoding algorithm"). */
function quoted(fileName: string): string {
  return fileName.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
