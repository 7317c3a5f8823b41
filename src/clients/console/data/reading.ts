import { hasOurNames } from '../../../feed-format/read/resolve-format';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import type { Draft } from './draft';
import { fetchFormats } from './formats';
import type { Definition } from './mapping';
import type { Transfer } from './send-form';
import { requestInspection } from './upload';

type Inspection = Schemas['FeedInspection'];
type Format = Schemas['Format'];

/** How a file is read: without a format, by the mapping of the view, or by the format of this name. */
export const asItIs = '';
export const byMapping = '*';

/** Returns the name of the format for inspecting and sending a file. @param reading - other than `byMapping` */
export const sentFormat = (reading: string) => (reading === asItIs ? 'standard' : reading);

const defaultName = 'default';

/** The available formats, and how the file is read and loaded. */
export interface Proposal {
  formats: Format[];
  reading: string;
  mode: Mode;
}

type Mode = Schemas['LoadMode'];

/** Returns the mode for which a definition has the columns. */
export const modeFor = (definition: Definition | null | undefined): Mode =>
  definition && !definition.columns.product_name ? 'update' : 'upsert';

/**
 * Proposes how to read a file: by the partner's default format, else by the format of its last feed, if the service accepts the file,
 * even if all rows would be skipped: a guess could take other columns. Otherwise without a format, if that loses nothing; else by a
 * mapping; else as an update, which needs no names.
 */
export async function proposeReading(
  { partner, file }: Draft,
  inspection: Inspection,
  transfer?: Transfer,
): Promise<Proposal> {
  const [formats, last] = await Promise.all([fetchFormats(partner), fetchLastFormat(partner)]);
  const propose = (reading: string, mode: Mode = 'upsert') => ({ formats, reading, mode });
  const accepts = async (reading: string, mode: Mode) => {
    const { accepted } = await requestInspection(
      partner,
      file,
      { format: sentFormat(reading), mode },
      transfer,
    );
    return accepted;
  };
  const saved = [...new Set([defaultName, last])].flatMap((name) =>
    formats.filter(({ format_name }) => format_name === name),
  );
  for (const { format_name, definition } of saved)
    if (await accepts(format_name, modeFor(definition))) return propose(format_name, modeFor(definition));
  if (isStandard(inspection)) return propose(asItIs);
  if (inspection.suggested_format || inspection.draft_format) return propose(byMapping);
  for (const reading of [...saved.map(({ format_name }) => format_name), asItIs])
    if (await accepts(reading, 'update')) return propose(reading, 'update');
  const own = formats.find(({ partner_name }) => partner_name !== null);
  return propose(own?.format_name ?? byMapping, modeFor(own?.definition));
}

/** Returns the name of the format of the partner's last feed; null if it has none, or the standard one. */
async function fetchLastFormat(partner: string): Promise<string | null> {
  const query = { partner_name: partner, limit: 1 };
  const { items } = await bodyOf(client.GET('/feeds', { params: { query } }));
  const name = items[0]?.format_name ?? null;
  return name === 'standard' ? null : name;
}

/** Whether the suggested format equals reading without a format: it has the standard columns, and no doubts. */
function isStandard({ accepted, suggested_format, draft_format }: Inspection): boolean {
  if (!accepted || draft_format) return false;
  if (!suggested_format) return true;
  const { columns: _, delimiter, ...others } = suggested_format;
  return hasOurNames(suggested_format) && delimiter !== '|' && Object.keys(others).length === 0;
}

/** Returns a name that no format of the partner has. */
export function freeName(formats: Format[]): string {
  const taken = new Set(formats.map(({ format_name }) => format_name));
  let name = defaultName;
  for (let number = 2; taken.has(name); number++) name = `${defaultName}-${number}`;
  return name;
}

/** Returns why no format of the partner can have this name; undefined if one can. */
export function formatNameFault(name: string, formats: Format[]): 'invalid' | 'reserved' | undefined {
  if (!/^[a-z0-9-]{1,64}$/.test(name)) return 'invalid';
  const isReserved = formats.some(
    ({ format_name, partner_name }) => format_name === name && partner_name === null,
  );
  return isReserved ? 'reserved' : undefined;
}

/** A member of a definition, or a source of a column, that differs. */
export interface DefinitionChange<Value = unknown> {
  name: string;
  isColumn: boolean;
  before: Value;
  after: Value;
}

/** Lists the differences between two definitions. */
export function changesBetween(before: Definition, after: Definition): DefinitionChange[] {
  const { columns: sourcesBefore, ...membersBefore } = before;
  const { columns: sourcesAfter, ...membersAfter } = after;
  return [
    ...differences(sourcesBefore, sourcesAfter).map((change) => ({ ...change, isColumn: true })),
    ...differences(membersBefore, membersAfter).map((change) => ({ ...change, isColumn: false })),
  ];
}

function differences(before: object, after: object): Omit<DefinitionChange, 'isColumn'>[] {
  const [old, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => !isSame(old[name], now[name]))
    .map((name) => ({ name, before: old[name], after: now[name] }));
}

/** Whether two values are the same JSON, with members in any order. */
export const isSame = (one: unknown, other: unknown) => ordered(one) === ordered(other);

/** Writes a value as JSON, with the members of objects in order. */
const ordered = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
