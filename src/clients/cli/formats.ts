import type { components } from '../../../generated/openapi';
import { exitCodes, Failure } from './failures';
import { jsonBody, readJson } from './json-body';
import { moreText, type PageOptions } from './lists';
import { printable, printableJson } from './printable';
import { pathText } from './requests';
import { unexpectedResponse, type Request } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

type Format = components['schemas']['Format'];
type FormatDefinition = components['schemas']['FormatDefinition'];

interface PartnerOption {
  partner: string;
}

export function listFormats({ partner: partner_name, ...page }: PageOptions & Partial<PartnerOption>): Work {
  return async ({ service, json }) => {
    const query = { partner_name, ...page };
    const formats = await service.getList('the request for formats', '/formats', { query });
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
      partner === undefined
        ? await findBuiltIn(session, name)
        : await askForFormat(session, 'the request for a format', { method: 'GET', name, partner });
    process.stdout.write(`${printableJson(session.json ? format : format.definition)}\n`);
    return exitCodes.done;
  };
}

/** Creates or replaces a format. @param path - a JSON file with a definition; `-`: standard input */
export function saveFormat(name: string, path: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const body = await readJson(path);
    const format = await askForFormat(session, 'the format', { method: 'PUT', name, partner, body });
    showOutcome(session, format, 'is saved');
    return exitCodes.done;
  };
}

export function requestFormatDeletion(name: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const what = 'the deletion';
    showOutcome(
      session,
      await askForFormat(session, what, { method: 'DELETE', name, partner }),
      'is deleted',
    );
    return exitCodes.done;
  };
}

/** Saves a definition as a format of a partner. */
export async function putFormat(
  session: Session,
  { partner, name, definition }: PartnerOption & { name: string; definition: unknown },
): Promise<void> {
  const body = Buffer.from(JSON.stringify(definition));
  await askForFormat(session, 'the format', { method: 'PUT', name, partner, body });
}

interface FormatRequest extends PartnerOption {
  method: Request['method'];
  name: string;
  body?: Buffer;
}

/** Finds a format of a partner. @returns undefined without one of this name. @throws Failure */
export async function fetchFormat(
  session: Session,
  named: { name: string; partner: string },
): Promise<Format | undefined> {
  try {
    return await askForFormat(session, 'the request for a format', { method: 'GET', ...named });
  } catch (error) {
    if (error instanceof Failure && error.details.status === 404) return undefined;
    throw error;
  }
}

async function askForFormat(
  { service }: Session,
  what: string,
  { method, name, partner, body }: FormatRequest,
): Promise<Format> {
  const path = pathText('/partners/{partner_name}/formats/{format_name}', {
    partner_name: partner,
    format_name: name,
  });
  const response = await service.ask(what, { method, path, ...(body && jsonBody(body)) });
  const format = response!.body as Format | undefined;
  if (typeof format?.format_name !== 'string') throw unexpectedResponse('a format');
  return format;
}

/** The built-in formats are the first ones. */
async function findBuiltIn({ service, invocation }: Session, name: string): Promise<Format> {
  const query = { limit: 100 };
  const { items } = await service.getList('the request for formats', '/formats', { query });
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
