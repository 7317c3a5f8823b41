import type { components } from '../../../generated/openapi';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { builtInFormats, findBuiltInFormat } from '../../feed-format/built-in-formats';
import { definitionFaults } from '../../feed-format/format-faults';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { parsePartnerName, partnerNameFaults } from '../partners/partner-name';
import { requireKeyInUse } from '../../http/keys/keys.repository';
import { getOrInsertPartner, getPartnerId } from '../partners/partners.repository';
import { storedPartnerName } from '../partners/stored-partner-name';
import { requirePartner, type PartnerScope } from '../../base/caller';
import { formatInUse, formatNotFound, tooManyFormats } from '../../base/errors';
import { requireNameCursor, toListBody, toPage } from '../../base/pagination';
import { constantFaults } from '../../feed-format/rows/constant-faults';
import {
  deleteFormat,
  findFormat,
  formatsMax,
  listPartnerFormats,
  upsertFormat,
  type FormatPosition,
  type FormatRow,
} from './formats.repository';

type Format = components['schemas']['Format'];
type FormatHandlers = OperationsOf<'listFormats' | 'getFormat' | 'replaceFormat' | 'deleteFormat'>;

export function formatOperations(db: Database): FormatHandlers {
  return {
    listFormats: {
      check({ query: { cursor } }) {
        requireNameCursor(cursor);
      },
      async handle({ query, caller, reply }) {
        const limit = defaulted(query.limit);
        const partnerName = query.partner_name && (await storedPartnerName(db, query.partner_name));
        const after = positionOf(query.cursor);
        const builtIn = partnerName === undefined ? builtInAfter(after) : [];
        const own = await listPartnerFormats(db, {
          scope: caller.partnerName,
          partnerName,
          after: typeof after === 'string' ? undefined : after,
          limit,
        });
        const found = builtIn.length + (own[0]?.found ?? 0);
        const page = toPage([...builtIn, ...own.map(formatBody)], limit, cursorOf, found);
        return reply(
          200,
          toListBody(page, (format) => format),
        );
      },
    },

    getFormat: {
      async handle({ path, caller, reply }) {
        const { format } = await getFormat(db, path, caller.partnerName);
        return reply(200, formatBody(format));
      },
    },

    replaceFormat: {
      /** Checks the names in the path, and the rules of a definition that no schema can express. */
      rule({ path: { partner_name: partnerName, format_name: formatName = '' }, body }) {
        const faults = partnerNameFaults(partnerName);
        if (findBuiltInFormat(formatName)) {
          const msg = 'Input should not be the name of a built-in format';
          faults.push({ type: 'reserved_name', loc: ['path', 'format_name'], msg, input: formatName });
        }
        return [...faults, ...definitionFaults(body), ...constantFaults(body)];
      },
      async handle({ path, body, caller, reply }) {
        // The rule has checked it.
        const partnerName = await storedPartnerName(db, parsePartnerName(path.partner_name) as string);
        requirePartner(caller.partnerName, partnerName);
        const format = await inTransaction(db, 'request', async (trx) => {
          const partnerId = await getOrInsertPartner(trx, partnerName);
          await requireKeyInUse(trx, caller);
          const isStored = await upsertFormat(trx, partnerId, { name: path.format_name, definition: body });
          if (!isStored) throw tooManyFormats(partnerName, formatsMax);
          return findFormat(trx, partnerId, path.format_name);
        });
        return reply(200, formatBody(format!));
      },
    },

    deleteFormat: {
      async handle({ path, caller, reply }) {
        const { partnerId, format } = await getFormat(db, path, caller.partnerName);
        const source = await inTransaction(db, 'request', (trx) =>
          deleteFormat(trx, partnerId, format.format_name),
        );
        if (source !== undefined) throw formatInUse(source);
        return reply(200, formatBody(format));
      },
    },
  };
}

/** @throws partner_not_found, format_not_found */
async function getFormat(
  db: Database,
  { partner_name: partnerName, format_name: formatName }: { partner_name: string; format_name: string },
  scope: PartnerScope,
): Promise<{ partnerId: number; format: FormatRow }> {
  const partnerId = await getPartnerId(db, partnerName, scope);
  const format = await findFormat(db, partnerId, formatName);
  if (!format) throw formatNotFound();
  return { partnerId, format };
}

/** Parses a cursor: `format/partner`, or the name of a built-in format. No name of a format contains a slash. */
function positionOf(cursor: string | undefined): FormatPosition | string | undefined {
  if (cursor === undefined) return undefined;
  const slash = cursor.indexOf('/');
  if (slash < 0) return cursor;
  return { formatName: cursor.slice(0, slash), partnerName: cursor.slice(slash + 1) };
}

function cursorOf({ format_name, partner_name }: Format): string {
  return partner_name === null ? format_name : `${format_name}/${partner_name}`;
}

function builtInAfter(position: FormatPosition | string | undefined): Format[] {
  if (typeof position === 'object') return [];
  return builtInFormats
    .filter(({ name }) => position === undefined || name > position)
    .map(({ name, definition }) => ({
      format_name: name,
      partner_name: null,
      definition,
      created_at: null,
      updated_at: null,
    }));
}

function formatBody(format: FormatRow): Format {
  return {
    format_name: format.format_name,
    partner_name: format.partner_name,
    definition: format.definition,
    created_at: format.created_at.toISOString(),
    updated_at: format.updated_at.toISOString(),
  };
}
