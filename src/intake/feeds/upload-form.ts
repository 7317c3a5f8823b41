import type { operations } from '../../../generated/openapi';
import type { Database } from '../../base/db/database';
import { invalidShape, requestTimedOut, type ServiceError, type ShapeError } from '../../base/errors';
import { loadOptionsOf, type LoadChoice } from '../../feed-format/load-options';
import type { FeedFormat, FormatDefinition } from '../../feed-format/format-definition';
import { defaultFormatName } from '../../catalog/formats/formats.repository';
import { dependsOnPartner, findUploadFormat, withColumns } from '../../catalog/formats/find-format';
import type { ReadAsPut } from '../../http/contract/contract';
import type { FormFields } from '../../http/body/form-fields';
import type { FormPart, MultipartBody } from '../../http/body/multipart';
import { reservedNameError } from '../../catalog/partners/partner-name';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { holderOf, requirePartner, type Caller } from '../../base/caller';
import { half } from '../../base/concurrency/concurrency-limit';
import { TransferLimit, type TransferRequest } from '../../base/concurrency/transfer-limit';
import type { FormFeed, IncomingFile, KnownFeed, UnfinishedForm } from './receive-feed';

const definitionField = 'format_definition';

interface UploadLimits {
  /** Requests before their file, counted per API key. */
  forms: TransferLimit;
  /** Requests whose file has begun, counted per partner. */
  files: TransferLimit;
  /** Requests with a refused form, while their file is read. */
  refused: TransferLimit;
}

/** Maximum number of forms in progress, and of refused ones: each takes half a megabyte of memory. */
export const concurrentForms = 32;

/** Maximum body size of a small upload. Larger ones may take minutes, and the memory that the object store buffers. */
export const smallUploadBytes = 1024 * 1024;

/** @param concurrentUploads - maximum number of files in progress */
export function createUploadLimits(concurrentUploads: number): UploadLimits {
  // Small uploads never wait for large ones.
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

type FormField = keyof operations['uploadFeed']['requestBody']['content']['multipart/form-data'];
type ChoiceField = Exclude<FormField, 'partner_name' | 'file' | typeof definitionField>;

/** The fields with options of the load, which must precede the file, and their members in the choice. */
const choices: Readonly<Record<ChoiceField, keyof LoadChoice>> = {
  mode: 'mode',
  format: 'formatName',
  collection: 'collection',
  max_skipped_percent: 'maxSkippedPercent',
  max_price_jump_percent: 'maxPriceJumpPercent',
};

export interface UploadAdmission extends Pick<TransferRequest, 'refusal'> {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
  readAsPut: ReadAsPut;
  /** Whether a form without `format` has the partner's `default`. */
  hasDefaultFormat: boolean;
}

/**
 * Reads a form up to its file, and waits for a permit before it reads on. If `partner_name` comes after the file, the permit
 * counts for the API key.
 * @param receive - called with a permit, also for a refused form: its `finish` throws
 * @throws request_timeout when evicted for another caller; unavailable, validation_error, partner_not_allowed; the `refusal`;
 * errors of the body and of `receive`
 */
export async function admitUpload<T>(
  { parts, fields, sender: client, announcedBytes = Infinity, abort }: MultipartBody,
  admission: UploadAdmission,
  receive: (feed: FormFeed) => Promise<T>,
): Promise<T> {
  const { caller, uploadLimits, refusal } = admission;
  const form = new UploadForm(parts, fields, admission);
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

/** Collects the parts of the form and their errors. The options of the load must precede the file; `partner_name` may follow it. */
class UploadForm implements UnfinishedForm {
  private readonly seen = new Set<string>();
  private readonly errors: ShapeError[] = [];
  /** Whether it is unknown how to read the file: then the errors of the file mean nothing. */
  private isUnreadable = false;
  /** Set once its part is read and valid. */
  private partnerName: string | undefined;
  /** The options from the valid fields so far. */
  private choice: LoadChoice = {};
  private definitionText: string | undefined;
  private format: FormFeed['format'] = 'undecided';

  constructor(
    private readonly parts: AsyncGenerator<FormPart, void>,
    private readonly fields: FormFields,
    private readonly admission: Pick<UploadAdmission, 'db' | 'caller' | 'readAsPut' | 'hasDefaultFormat'>,
  ) {}

  get hasDefinition(): boolean {
    return this.definitionText !== undefined;
  }

  get isRefused(): boolean {
    return this.errors.length > 0;
  }

  /** @returns the file part, whose content is not read yet. @throws validation_error without one; partner_not_allowed */
  async readToFile(): Promise<IncomingFile> {
    for (;;) {
      const { value: part, done } = await this.parts.next();
      if (done) throw this.refusal()!;
      const file = await this.take(part);
      if (file) return file;
      await skip(part);
    }
  }

  /** Describes a feed by the parts before its file. */
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
    // Other parts are ignored.
    if (!this.fields.has(part.name)) return undefined;
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
    } else if (part.name !== 'partner_name' && this.seen.has('file')) {
      this.isUnreadable = true;
      this.errors.push({ type: 'field_after_file', loc, msg: 'Field must precede file', input });
    } else await this.takeField(part.name, part.value, part.isTooLong);
    return undefined;
  }

  /** Adds a field. @throws partner_not_allowed */
  private async takeField(name: string, text: string, isCut: boolean): Promise<void> {
    const { db, caller } = this.admission;
    const isDefinition = name === definitionField;
    const read = this.fields.read(name, text);
    // Only the definition may have the maximum length of a field, in bytes.
    if (isCut && (isDefinition || 'value' in read))
      this.refuse(name, tooLong(name, text, this.fields.bytesMax));
    else if ('error' in read) this.refuse(name, read.error);
    else if (isDefinition) this.definitionText = text;
    else if (name !== 'partner_name')
      this.choice = { ...this.choice, [choices[name as ChoiceField]]: read.value };
    else {
      const partnerName = read.value as string;
      const reserved = reservedNameError(partnerName, text);
      if (reserved) return this.refuse(name, reserved);
      const storedName = await storedPartnerName(db, partnerName);
      requirePartner(caller.partnerName, storedName);
      this.partnerName = storedName;
    }
  }

  private refuse(name: string, error: ShapeError): void {
    this.errors.push(error);
    if (name === definitionField) this.isUnreadable = true;
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
    if (options.formatName === null && !this.admission.hasDefaultFormat) return null;
    const partnerName = this.partnerName ?? caller.partnerName ?? undefined;
    if (partnerName === undefined && (await dependsOnPartner(db, options.formatName))) return 'undecided';
    const found = await findUploadFormat(db, partnerName, options);
    return 'format' in found ? found.format : this.refuseFormat([found.error]);
  }

  /** Reads the definition in the form by the rules of a stored one; the partner of the form has its own check. */
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
const tooLong = (name: string, input: string, bytesMax: number): ShapeError => ({
  type: 'string_too_long',
  loc: ['body', name],
  msg: `String should have at most ${bytesMax} bytes`,
  input,
  ctx: { max_length: bytesMax },
});

/** Skips the content of a part that is no field of the form. */
async function skip(part: FormPart): Promise<void> {
  if (part.kind === 'file') for await (const _ of part.content);
}
