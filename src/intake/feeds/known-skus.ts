import { headerCharactersMax } from '../../feed-format/detect/column-cells';
import type { FormatDetection } from '../../feed-format/detect/detect-format';
import type { DoubtChoice, FormatDoubt } from '../../feed-format/detect/format-doubts';
import { applyMergePatch } from '../../feed-format/detect/merge-patch';
import type { FormatDefinition } from '../../feed-format/format-definition';
import { headersOf } from '../../feed-format/read/resolve-format';
import { comparable } from '../../feed-format/text';
import type { LoadMode } from '../../feed-format/load-options';
import { readHeader } from '../../feed-format/read/header';
import type { NamedHeader } from '../../feed-format/read/header-columns';
import { choiceBytes, draftBeside, readBeginningBy } from './choice-samples';
import { distinctCells } from './inspect-rows';
import type { KnownSkus, PartnerCatalog } from './partner-catalog';

/** Fewer skus may be new by chance. */
const checkedMin = 10;

/** A smaller catalog is often the beginning of a larger one. */
const productsMin = 100;

/** Minimum share of the cells of a column that are known, if it may have the skus. */
const knownShareMin = 0.5;

/** Maximum number of cells per column that are looked up. */
const cellsMax = 200;

/** Maximum number of other columns to choose from. */
const columnsMax = 5;

/** The load that the file is for. */
interface Load {
  catalog: PartnerCatalog;
  mode: LoadMode;
}

/**
 * Compares the source of the sku with the catalog: adds a doubt if it knows none, or orders the choices of such a doubt.
 * @param known - agreement of the draft's skus; absent: they cannot be read
 */
export async function doubtUnknownSkus(
  detection: FormatDetection,
  known: KnownSkus | undefined,
  { catalog, mode }: Load,
): Promise<FormatDetection> {
  const { doubts } = detection;
  const asked = doubts.find(({ about }) => about === 'sku');
  if (asked) {
    const ordered = await byAgreement(detection, asked, { catalog, mode });
    return { ...detection, doubts: doubts.map((doubt) => (doubt === asked ? ordered : doubt)) };
  }
  if (!known || known.checked < checkedMin || known.known > 0) return detection;
  if (!(await catalog.hasAtLeast(productsMin))) return detection;
  const doubt = await unknownSkusDoubt(detection, known, { catalog, mode });
  return { ...detection, doubts: [doubt, ...doubts], definition: null };
}

/** Orders the choices of a doubt by the number of their skus that the partner has. */
async function byAgreement(
  detection: FormatDetection,
  doubt: FormatDoubt,
  { catalog, mode }: Load,
): Promise<FormatDoubt> {
  const base = draftBeside(detection, doubt);
  const named: { choice: DoubtChoice; skus: string[] }[] = [];
  for (const choice of doubt.choices) {
    const { skus } = await readBeginningBy(applyMergePatch(base, choice.changes), detection.text!, mode);
    named.push({ choice, skus });
  }
  const known = await catalog.knownOf([...new Set(named.flatMap(({ skus }) => skus))]);
  const counted = named.map(({ choice, skus }) => ({ choice, count: countIn(known, skus) }));
  return { ...doubt, choices: counted.sort((a, b) => b.count - a.count).map(({ choice }) => choice) };
}

const countIn = (known: ReadonlySet<string>, skus: Iterable<string>) =>
  [...skus].filter((sku) => known.has(sku)).length;

async function unknownSkusDoubt(
  { draft, text }: FormatDetection,
  { checked }: KnownSkus,
  { catalog, mode }: Load,
): Promise<FormatDoubt> {
  const header = readHeader(text!, draft as FormatDefinition, mode);
  const names = 'problem' in header ? [] : header.names;
  const sources = headersOf(draft!.columns.sku!).filter((source) => !names.length || isNamed(source, names));
  const columns = 'problem' in header ? [] : await knownColumns(header, text!, catalog);
  // A source of another kind excludes headers.
  const cleared = Object.fromEntries(Object.keys(draft!.columns.sku!).map((member) => [member, null]));
  return {
    about: 'sku',
    code: 'unknown_skus',
    message: `None of the ${checked} skus in ${sources.map(quoted).join(', ')} is in the partner's catalog: ${mode === 'update' ? 'an update skips their rows' : 'they would become new products'}.`,
    choices: [
      ...columns.map((column) => ({
        label: `The sku is ${quoted(column)}`,
        changes: { columns: { sku: { ...cleared, from: [column] } } },
        valuePointer: null,
      })),
      {
        label: mode === 'update' ? 'Skip these rows' : 'These are new products',
        changes: {},
        valuePointer: null,
      },
    ],
  };
}

const quoted = (header: string) => `"${header}"`;

const isNamed = (header: string, names: readonly string[]) =>
  names.some((name) => comparable(name) === comparable(header));

/** Lists the columns at least half of whose cells are skus of the partner, the best first. */
async function knownColumns(header: NamedHeader, text: Buffer, catalog: PartnerCatalog): Promise<string[]> {
  const { names } = header;
  const cells = await distinctCells(text.subarray(0, choiceBytes), header, cellsMax);
  const isUsable = (name: string) =>
    name !== '' &&
    name.length <= headerCharactersMax &&
    names.filter((other) => comparable(other) === comparable(name)).length === 1;
  const candidates = names.flatMap((name, position) => {
    const skus = [...cells[position]!];
    return skus.length >= checkedMin && isUsable(name) ? [{ name, skus }] : [];
  });
  const known = await catalog.knownOf([...new Set(candidates.flatMap(({ skus }) => skus))]);
  return candidates
    .map(({ name, skus }) => ({ name, share: countIn(known, skus) / skus.length }))
    .filter(({ share }) => share >= knownShareMin)
    .sort((a, b) => b.share - a.share)
    .slice(0, columnsMax)
    .map(({ name }) => name);
}
