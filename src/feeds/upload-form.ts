import type { Database } from '../db/database';
import { invalidShape, type ServiceError, type ShapeError } from '../shared/errors';
import type { FormPart } from '../http/multipart';
import { requirePartner, type PartnerScope } from '../shared/caller';
import { parsePartnerName } from '../partners/partner-name';
import { storedPartnerName } from '../partners/stored-partner-name';

/** The file part of a form; its content is not read yet. */
export type FilePart = Extract<FormPart, { kind: 'file' }> & { fileName: string };

/** Collects the two parts of the form, in any order, and their errors. */
export class UploadForm {
  private readonly seen = new Set<string>();
  private readonly errors: ShapeError[] = [];
  /** Set once its part was read and is valid. */
  partnerName: string | undefined;

  /** @param scope - the partner that the form may name */
  constructor(
    private readonly db: Database,
    private readonly scope: PartnerScope,
  ) {}

  /** Adds a part. @returns the file part, whose content the caller reads. @throws partner_not_allowed */
  async take(part: FormPart): Promise<FilePart | undefined> {
    if (part.name !== 'partner_name' && part.name !== 'file') return undefined;
    const loc = ['body', part.name];
    const input = part.kind === 'field' ? part.value : (part.fileName ?? null);
    if (this.seen.has(part.name)) {
      this.errors.push({ type: 'repeated', loc, msg: 'Field should be sent only once', input });
      return undefined;
    }
    this.seen.add(part.name);
    if (part.name === 'file') {
      // PostgreSQL cannot store NUL.
      const fileName = part.kind === 'file' && part.fileName?.replaceAll('\0', '');
      if (fileName) return { ...part, fileName };
      this.errors.push({
        type: 'file_name_missing',
        loc,
        msg: 'File should be sent with a file name',
        input: null,
      });
    } else if (part.kind === 'file' || part.value === null) {
      this.errors.push({ type: 'string_type', loc, msg: 'Input should be a valid string', input });
    } else {
      const name = parsePartnerName(part.value);
      if (typeof name === 'string') {
        const storedName = await storedPartnerName(this.db, name);
        requirePartner(this.scope, storedName);
        this.partnerName = storedName;
      } else this.errors.push(name);
    }
    return undefined;
  }

  /** The errors of the form; undefined if both parts are valid. */
  refusal(): ServiceError | undefined {
    const missing = ['partner_name', 'file']
      .filter((name) => !this.seen.has(name))
      .map((name) => ({ type: 'missing', loc: ['body', name], msg: 'Field required', input: null }));
    const errors = [...this.errors, ...missing];
    return errors.length > 0 ? invalidShape(errors) : undefined;
  }

  /** @returns the partner's name. @throws invalid_shape */
  finish(): string {
    const refusal = this.refusal();
    if (refusal) throw refusal;
    return this.partnerName!;
  }
}

/** Reads content to its end and discards it. */
export async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}
