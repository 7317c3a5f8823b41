import type { Database } from '../db/database';
import { invalidShape, type ServiceError, type ShapeError } from '../shared/errors';
import {
  defaultLoadOptions,
  loadFields,
  type LoadField,
  type LoadOptions,
} from '../feed-format/load-options';
import type { FeedFormat, FormatDefinition } from '../feed-format/format-definition';
import { defaultFormatName } from '../formats/formats.repository';
import { findUploadFormat, withColumns } from '../formats/upload-format';
import { formFieldBytes, type FormPart } from '../http/multipart';
import { requirePartner, type PartnerScope } from '../shared/caller';
import { parsePartnerName } from '../partners/partner-name';
import { storedPartnerName } from '../partners/stored-partner-name';

/** The file part of a form; its content is not read yet. */
export type FilePart = Extract<FormPart, { kind: 'file' }> & { fileName: string };

export interface UploadFormOptions {
  /** The fields of the load that the form has; others are ignored like other unknown parts. */
  loadFields: readonly LoadField[];
  /** Whether a form without `format` has the partner's `default`. */
  hasDefaultFormat: boolean;
  /** Reads `format_definition` as a format of this name; absent: the form has no such field. */
  readDefinition?: ReadDefinition;
}

/** Reads the JSON of a definition; errors are those of `replaceFormat`. */
export type ReadDefinition = (
  formatName: string,
  text: string,
) => { body: unknown } | { errors: ShapeError[] };

const definitionField = 'format_definition';

/** Collects the parts of the form and their errors. The fields of the load must precede the file, `partner_name` may follow it. */
export class UploadForm {
  private readonly seen = new Set<string>();
  private readonly errors: ShapeError[] = [];
  /** Whether the form does not say how to read the file, so that the errors of the file mean nothing. */
  isUnreadable = false;
  /** Set once its part was read and is valid. */
  partnerName: string | undefined;
  /** What the valid fields say so far. */
  loadOptions: LoadOptions = defaultLoadOptions;
  private definitionText: string | undefined;

  /** @param scope - the partner that the form may name */
  constructor(
    private readonly db: Database,
    private readonly scope: PartnerScope,
    private readonly options: UploadFormOptions,
  ) {}

  /** Whether the form has defined its format, which is to be stored with the feed. */
  get hasDefinition(): boolean {
    return this.definitionText !== undefined;
  }

  /** Whether what was read so far is refused, whatever follows. */
  get isRefused(): boolean {
    return this.errors.length > 0;
  }

  /** Adds a part. @returns the file part, whose content the caller reads. @throws partner_not_allowed */
  async take(part: FormPart): Promise<FilePart | undefined> {
    const ownField = this.options.loadFields.find((name) => name === part.name);
    const parseLoadField = ownField && loadFields[ownField];
    const isDefinition = part.name === definitionField && this.options.readDefinition !== undefined;
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
      else this.loadOptions = { ...this.loadOptions, ...parsed };
    } else {
      const name = parsePartnerName(part.value);
      if (typeof name !== 'string') this.errors.push(name);
      else if (part.isTooLong) this.errors.push(tooLong(loc, part.value));
      else {
        const storedName = await storedPartnerName(this.db, name);
        requirePartner(this.scope, storedName);
        this.partnerName = storedName;
      }
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

  /**
   * Finds the format of the file.
   * @returns null without one, also if the form names a wrong one; `undecided` until `partner_name` is read
   */
  async findFormat(): Promise<FeedFormat | null | 'undecided'> {
    if (this.definitionText !== undefined) return this.definedFormat(this.definitionText);
    if (this.loadOptions.formatName === null && !this.options.hasDefaultFormat) return null;
    const partnerName = this.partnerName ?? this.scope ?? undefined;
    const found = await findUploadFormat(this.db, { partnerName, loadOptions: this.loadOptions });
    if (found === 'undecided') return found;
    return 'format' in found ? found.format : this.refuseFormat([found.error]);
  }

  private definedFormat(text: string): FeedFormat | null {
    const name = this.loadOptions.formatName ?? defaultFormatName;
    const read = this.options.readDefinition!(name, text);
    if ('errors' in read)
      return this.refuseFormat(
        read.errors.map((error) => ({
          ...error,
          loc:
            error.loc[0] === 'path' ? ['body', 'format'] : ['body', definitionField, ...error.loc.slice(1)],
        })),
      );
    const format = { name, definition: read.body as FormatDefinition };
    const found = withColumns(format, this.loadOptions.mode, definitionField);
    return 'format' in found ? found.format : this.refuseFormat([found.error]);
  }

  private refuseFormat(errors: ShapeError[]): null {
    this.errors.push(...errors);
    this.isUnreadable = true;
    return null;
  }

  /** Refuses a form that does not say how to read the file. @throws invalid_shape */
  requireReadable(): void {
    if (this.isUnreadable) throw this.refusal()!;
  }

  /** @returns the partner's name. @throws invalid_shape */
  finish(): string {
    const refusal = this.refusal();
    if (refusal) throw refusal;
    return this.partnerName!;
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

/** Reads content to its end and discards it. */
export async function discardContent(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks);
}
