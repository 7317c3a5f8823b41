import type { components } from '../../../generated/openapi';
import { exitCodes, Failure } from './failures';
import { readJson } from './read-json';
import { moreText, type PageOptions } from './lists';
import { printable, printableJson } from './printable';
import { list } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

type Format = components['schemas']['Format'];
type FormatDefinition = components['schemas']['FormatDefinition'];

interface PartnerOption {
  partner: string;
}

interface NamedFormat extends PartnerOption {
  name: string;
}

export function listFormats({ partner: partner_name, ...page }: PageOptions & Partial<PartnerOption>): Work {
  return async ({ service, json }) => {
    const query = { partner_name, ...page };
    const formats = await service.askFor('the request for formats', list, () =>
      service.api.GET('/formats', { params: { query } }),
    );
    if (json) process.stdout.write(`${printableJson(formats)}\n`);
    else if (formats.count === 0) process.stdout.write('There are no formats.\n');
    else process.stdout.write(formatTable(formats.items) + moreText(formats.next_cursor));
    return exitCodes.done;
  };
}

/** Shows the definition in the form for saving it; without a partner, of a built-in format. */
export function showFormat(name: string, { partner }: Partial<PartnerOption>): Work {
  return async (session) => {
    const format =
      partner === undefined ? await findBuiltIn(session, name) : await getFormat(session, { name, partner });
    process.stdout.write(`${printableJson(session.json ? format : format.definition)}\n`);
    return exitCodes.done;
  };
}

/** Creates or replaces a format. @param file - a JSON file with a definition; `-`: standard input */
export function saveFormat(name: string, file: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const definition = await readJson<FormatDefinition>(file);
    showOutcome(session, await putFormat(session, { partner, name, definition }), 'is saved');
    return exitCodes.done;
  };
}

export function requestFormatDeletion(name: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const { service } = session;
    const format = await service.askFor('the deletion', aFormat, () =>
      service.api.DELETE(path, paramsOf({ name, partner })),
    );
    showOutcome(session, format, 'is deleted');
    return exitCodes.done;
  };
}

/** Saves a definition as a format of a partner. */
export function putFormat(
  { service }: Session,
  { definition: body, ...named }: NamedFormat & { definition: FormatDefinition },
): Promise<Format> {
  return service.askFor('the format', aFormat, () => service.api.PUT(path, { ...paramsOf(named), body }));
}

/** Finds a format of a partner. @returns undefined without one of this name. @throws Failure */
export async function fetchFormat(session: Session, named: NamedFormat): Promise<Format | undefined> {
  try {
    return await getFormat(session, named);
  } catch (error) {
    if (error instanceof Failure && error.details.status === 404) return undefined;
    throw error;
  }
}

const path = '/partners/{partner_name}/formats/{format_name}';
const paramsOf = ({ partner: partner_name, name: format_name }: NamedFormat) => ({
  params: { path: { partner_name, format_name } },
});
const aFormat = ['a format', 'format_name'] as const;

const getFormat = ({ service }: Session, named: NamedFormat) =>
  service.askFor('the request for a format', aFormat, () => service.api.GET(path, paramsOf(named)));

/** The built-in formats are the first ones. */
async function findBuiltIn({ service, invocation }: Session, name: string): Promise<Format> {
  const query = { limit: 100 };
  const { items } = await service.askFor('the request for formats', list, () =>
    service.api.GET('/formats', { params: { query } }),
  );
  const format = items.find(({ partner_name, format_name }) => partner_name === null && format_name === name);
  if (format) return format;
  const text = `There is no built-in format ${name}. Add --partner NAME for a partner's own, or see: ${invocation} formats list`;
  throw new Failure(exitCodes.refused, printable(text));
}

function showOutcome({ json }: Session, format: Format, outcome: string): void {
  const line = `Format ${format.format_name} of partner ${format.partner_name} ${outcome}.`;
  process.stdout.write(`${json ? printableJson(format) : printable(line)}\n`);
}

function formatTable(formats: readonly Format[]): string {
  return textTable(
    [
      ['format', 24],
      ['partner', 20],
      ['updated', 24],
      ['encoding', 12],
      ['delimiter', 9],
    ],
    'columns',
    formats.map(({ format_name, partner_name, updated_at, definition }) => [
      format_name,
      partner_name ?? '(built-in)',
      updated_at ?? '',
      definition.encoding ?? 'utf-8',
      definition.delimiter === undefined ? '' : JSON.stringify(definition.delimiter),
      columnsText(definition),
    ]),
  );
}

/** Writes `sku: Nr; product_name: Name + Color`. */
function columnsText({ columns }: FormatDefinition): string {
  return Object.entries(columns)
    .map(([column, { from, join, value, position }]) => {
      const source =
        from?.join(' or ') ?? join?.join(' + ') ?? (value === undefined ? undefined : `"${value}"`);
      return `${column}: ${source ?? `field ${position}`}`;
    })
    .join('; ');
}
