import type { Database } from '../db/database';
import { invalidShape, requestTimedOut, type ServiceError, type ShapeError } from '../shared/errors';
import {
  loadFieldNames,
  loadFields,
  loadOptionsOf,
  type LoadChoice,
  type LoadField,
} from '../feed-format/load-options';
import type { FeedFormat, FormatDefinition } from '../feed-format/format-definition';
import { defaultFormatName } from '../formats/formats.repository';
import { dependsOnPartner, findUploadFormat, withColumns } from '../formats/find-format';
import type { ReadAsPut } from '../http/contract';
import { formFieldBytes, type FormPart, type MultipartBody } from '../http/multipart';
import { parsePartnerName } from '../partners/partner-name';
import { storedPartnerName } from '../partners/stored-partner-name';
import { holderOf, requirePartner, type Caller } from '../shared/caller';
import { half } from '../shared/concurrency-limit';
import { TransferLimit, type TransferRequest } from '../shared/transfer-limit';
import type { FormFeed, IncomingFile, KnownFeed, UnfinishedForm } from './receive-feed';

const definitionField = 'format_definition';

interface UploadLimits {
  /** Requests before their file, counted per API key. */
  forms: TransferLimit;
  /** Requests whose file has begun, counted per partner. */
  files: TransferLimit;
  /** Requests whose form is refused, while their file is read. */
  refused: TransferLimit;
}

/** Maximum number of forms in progress, and of refused ones: each has half a megabyte of memory. */
export const concurrentForms = 32;

/** Maximum size of the body of a small upload. Others may take minutes, and the memory that the object store buffers. */
export const smallUploadBytes = 1024 * 1024;

/** @param concurrentUploads - maximum number of files in progress */
export function createUploadLimits(concurrentUploads: number): UploadLimits {
  // Small ones wait for none of the large.
  const largeMax = half(concurrentUploads);
  return {
    forms: new TransferLimit({ capacity: concurrentForms, what: 'forms of uploads' }),
    files: new TransferLimit({
      capacity: concurrentUploads,
      largeMax,
      largeMaxPerHolder: half(largeMax),
      what: 'uploads and inspections',
    }),
    refused: new TransferLimit({ capacity: concurrentForms, what: 'refused uploads' }),
  };
}

/** The fields of a form, besides `partner_name`, `file` and `format_definition`; other parts are ignored. */
export interface FormFields {
  loadFields: readonly LoadField[];
  /** Whether a form without `format` has the partner's `default`. */
  hasDefaultFormat: boolean;
}

/** The fields of an upload. */
export const uploadFields: FormFields = { loadFields: loadFieldNames, hasDefaultFormat: true };

export interface UploadAdmission extends Pick<TransferRequest, 'refusal'> {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
  readAsPut: ReadAsPut;
}

/**
 * Reads a form up to its file, and waits for a permit before it reads on. If `partner_name` comes after the file, the permit
 * counts for the API key.
 * @param receive - called with a permit, also with a form that is refused: its `finish` throws
 * @throws request_timeout when evicted for another caller; unavailable, invalid_shape, partner_not_allowed; the `refusal`;
 *   errors of the body and of `receive`
 */
export async function admitUpload<T>(
  { parts, sender: client, announcedBytes = Infinity, abort }: MultipartBody,
  admission: UploadAdmission,
  fields: FormFields,
  receive: (feed: FormFeed) => Promise<T>,
): Promise<T> {
  const { caller, uploadLimits, refusal } = admission;
  const form = new UploadForm(parts, admission, fields);
  const evict = () => abort(requestTimedOut());
  const formRequest = { ...holderOf(caller), client, refusal };
  const askedAt = performance.now();
  let waitedMilliseconds = 0;
  const readForm = () => {
    waitedMilliseconds = performance.now() - askedAt;
    return form.readToFile();
  };
  try {
    const file = await uploadLimits.forms.run(formRequest, evict, readForm);
    const feed = await form.describe(file);
    const asked = { ...formRequest, waitedMilliseconds };
    const work = () => receive(feed);
    if (form.isRefused) return await uploadLimits.refused.run(asked, evict, work);
    const isLarge = announcedBytes > smallUploadBytes;
    const request = { ...asked, ...holderOf(caller, feed.partnerName), isLarge };
    return await uploadLimits.files.run(request, evict, work);
  } finally {
    await parts.return();
  }
}

/** Collects the parts of the form and their errors. The fields of the load must precede the file, `partner_name` may follow it. */
class UploadForm implements UnfinishedForm {
  private readonly seen = new Set<string>();
  private readonly errors: ShapeError[] = [];
  /** Whether the form does not say how to read the file, so that the errors of the file mean nothing. */
  private isUnreadable = false;
  /** Set once its part was read and is valid. */
  private partnerName: string | undefined;
  /** What the valid fields say so far. */
  private choice: LoadChoice = {};
  private definitionText: string | undefined;
  private format: FormFeed['format'] = 'undecided';

  constructor(
    private readonly parts: AsyncGenerator<FormPart, void>,
    private readonly admission: Pick<UploadAdmission, 'db' | 'caller' | 'readAsPut'>,
    private readonly fields: FormFields,
  ) {}

  get hasDefinition(): boolean {
    return this.definitionText !== undefined;
  }

  get isRefused(): boolean {
    return this.errors.length > 0;
  }

  /** @returns the file part, whose content is not read yet. @throws invalid_shape without one; partner_not_allowed */
  async readToFile(): Promise<IncomingFile> {
    for (;;) {
      const { value: part, done } = await this.parts.next();
      if (done) throw this.refusal()!;
      const file = await this.take(part);
      if (file) return file;
      await skip(part);
    }
  }

  /** Describes a feed by what precedes its file. */
  async describe(file: IncomingFile): Promise<FormFeed> {
    this.format = await this.findFormat();
    return {
      partnerName: this.partnerName,
      options: loadOptionsOf(this.choice),
      format: this.format,
      file,
      form: this,
    };
  }

  async finish(fileProblem?: ServiceError): Promise<Pick<KnownFeed, 'partnerName' | 'format'>> {
    for await (const part of this.parts) {
      await this.take(part);
      await skip(part);
    }
    if (this.format === 'undecided') this.format = await this.findFormat();
    if (fileProblem && !this.isUnreadable) throw fileProblem;
    const refusal = this.refusal();
    if (refusal) throw refusal;
    return { partnerName: this.partnerName!, format: this.format as FeedFormat | null };
  }

  /** Adds a part. @returns the file part, whose content the caller reads. @throws partner_not_allowed */
  private async take(part: FormPart): Promise<IncomingFile | undefined> {
    const ownField = this.fields.loadFields.find((name) => name === part.name);
    const parseLoadField = ownField && loadFields[ownField];
    const isDefinition = part.name === definitionField;
    const precedesFile = isDefinition || parseLoadField !== undefined;
    if (part.name !== 'partner_name' && part.name !== 'file' && !precedesFile) return undefined;
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
    } else if (precedesFile && this.seen.has('file')) {
      this.isUnreadable = true;
      this.errors.push({ type: 'field_after_file', loc, msg: 'Field must precede file', input });
    } else if (isDefinition) {
      if (part.isTooLong) this.refuseFormat([tooLong(loc, part.value)]);
      else this.definitionText = part.value;
    } else if (parseLoadField) {
      // None of them admits a text as long as the longest field.
      const parsed = parseLoadField(part.value);
      if ('type' in parsed) this.errors.push({ ...parsed, loc });
      else this.choice = { ...this.choice, ...parsed };
    } else {
      const name = parsePartnerName(part.value);
      if (typeof name !== 'string') this.errors.push(name);
      else if (part.isTooLong) this.errors.push(tooLong(loc, part.value));
      else {
        const storedName = await storedPartnerName(this.admission.db, name);
        requirePartner(this.admission.caller.partnerName, storedName);
        this.partnerName = storedName;
      }
    }
    return undefined;
  }

  /** The errors of the form; undefined if both parts are valid. */
  private refusal(): ServiceError | undefined {
    const missing = ['partner_name', 'file']
      .filter((name) => !this.seen.has(name))
      .map((name) => ({ type: 'missing', loc: ['body', name], msg: 'Field required', input: null }));
    const errors = [...this.errors, ...missing];
    return errors.length > 0 ? invalidShape(errors) : undefined;
  }

  /**
   * Finds the format of the file.
   * @returns null without one, also if the form names a wrong one; `undecided` until `partner_name` is read
   */
  private async findFormat(): Promise<FormFeed['format']> {
    if (this.definitionText !== undefined) return this.definedFormat(this.definitionText);
    const { db, caller } = this.admission;
    const options = loadOptionsOf(this.choice);
    if (options.formatName === null && !this.fields.hasDefaultFormat) return null;
    const partnerName = this.partnerName ?? caller.partnerName ?? undefined;
    if (partnerName === undefined && (await dependsOnPartner(db, options.formatName))) return 'undecided';
    const found = await findUploadFormat(db, partnerName, options);
    return 'format' in found ? found.format : this.refuseFormat([found.error]);
  }

  /** Reads the definition of the form, as if it was stored alone: the partner of the form is checked for itself. */
  private definedFormat(text: string): FeedFormat | null {
    const { formatName, mode } = loadOptionsOf(this.choice);
    const name = formatName ?? defaultFormatName;
    const read = this.admission.readAsPut(`/partners/any/formats/${name}`, text);
    if ('errors' in read)
      return this.refuseFormat(
        read.errors.map((error) => ({
          ...error,
          loc:
            error.loc[0] === 'path' ? ['body', 'format'] : ['body', definitionField, ...error.loc.slice(1)],
        })),
      );
    const found = withColumns({ name, definition: read.body as FormatDefinition }, mode, definitionField);
    return 'format' in found ? found.format : this.refuseFormat([found.error]);
  }

  private refuseFormat(errors: ShapeError[]): null {
    this.errors.push(...errors);
    this.isUnreadable = true;
    return null;
  }
}

/** @param input - the beginning of the field */
const tooLong = (loc: string[], input: string): ShapeError => ({
  type: 'string_too_long',
  loc,
  msg: `String should have at most ${formFieldBytes} bytes`,
  input,
  ctx: { max_length: formFieldBytes },
});

/** Reads the content of a part that is no field of the form. */
async function skip(part: FormPart): Promise<void> {
  if (part.kind === 'file') for await (const _ of part.content);
}
