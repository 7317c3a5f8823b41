import type { FormatDefinition } from '../format-definition';
import type { Column } from './column-cells';
import { valueMeant } from './known-words';

/** Rows that repeat the products of others: in another language or for another shop. */
export interface RowChoice {
  /** The column whose cell names language or shop. */
  column: Column;
  /** Its cells, the one of most rows first; an empty one stands for all shops. */
  values: readonly string[];
}

const valuesMax = 30;

/** Finds a column that explains why skus repeat: each of its values has each sku once. */
export function findRowChoice(columns: readonly Column[], sku: Column): RowChoice | undefined {
  const column = columns.find((each) => each !== sku && namesView(each) && isKeyWithin(each, sku));
  if (!column) return undefined;
  const counts = new Map<string, number>();
  for (const cell of column.cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  if (counts.size < 2 || counts.size > valuesMax) return undefined;
  const values = [...counts].sort((a, b) => Number(b[0] === '') - Number(a[0] === '') || b[1] - a[1]);
  return { column, values: values.map(([value]) => value) };
}

const locale = /^(?:[a-z]{2}(?:[-_][a-z]{2})?)?$/i;

/** Names of columns for the shop or the view of a shop that a row is for. */
const viewHeader = /(?:^|[\s_-])(?:store|shop|website|view|channel|locale|lang)(?:$|[\s_-])/i;

const namesView = ({ header, meaning, cells, filled }: Column) =>
  filled > 0 &&
  (meaning?.field === 'language' || viewHeader.test(header) || cells.every((cell) => locale.test(cell)));

function isKeyWithin({ cells }: Column, sku: Column): boolean {
  const keys = sku.cells.flatMap((cell, at) => (cell === '' ? [] : [`${cells[at]}\0${cell}`]));
  return new Set(keys).size === keys.length;
}

const yes = /^(?:1|true|yes|y|ja|j|si|sí|sì|oui|tak|да|так|evet)$/i;
const no = /^'?(?:0|-1|false|no|n|nein|non|nie|нет|ні|hayır)$/i;
const shown = /^(?:active|published|visible|aktiv|actif|activo|attivo|aktif|активен|активный)$/i;
const hidden = /^(?:draft|archived|hidden|inactive|inaktiv|disabled)$/i;

const negation = /(?:^|[^\p{L}])(?:not?|nicht|non|nie|не|ні)(?:$|[^\p{L}])/iu;

/** Strength of a name without unknown words, which could say where a product is shown. */
const strengthMin = 0.8;

/** Cells of shown and of hidden products, by what their column says. Those of a state are words, and the letters of CS-Cart. */
const cellsOf = {
  published: [
    [yes, shown],
    [no, hidden],
  ],
  hidden: [[no], [yes]],
  state: [
    [shown, /^a$/i],
    [hidden, /^[dh]$/i],
  ],
} as const;

/** Finds the condition that leaves out products that their shop does not show, or does not sell. */
export function conditionOfShown(columns: readonly Column[]): FormatDefinition['only_rows_where'] {
  const [column] = columns.flatMap((each) => {
    const isShown = testOfShown(each);
    return isShown ? [{ ...each, isShown }] : [];
  });
  if (!column) return undefined;
  const seen = column.cells.filter(column.isShown).map((cell) => cell.toLowerCase());
  // Later rows may leave the cell empty.
  const values = [...new Set([...seen, ''])];
  return [{ header: column.header, values }];
}

/** Returns how cells tell shown products; undefined if the column is about something else. */
function testOfShown({ header, meaning, cells }: Column): ((cell: string) => boolean) | undefined {
  if (meaning?.field !== 'status' || meaning.strength < strengthMin || negation.test(header))
    return undefined;
  const { kind } = meaning;
  const [ofShown, ofHidden] = cellsOf[kind === 'published' || kind === 'hidden' ? kind : 'state'];
  const isShown = (cell: string) => cell === '' || ofShown.some((words) => words.test(cell));
  const isHidden = (cell: string) =>
    ofHidden.some((words) => words.test(cell)) || valueMeant(cell) === 'discontinued';
  // Beside empty cells, only a word says that the others are not sold.
  const saysWhy = cells.some((cell) => valueMeant(cell) === 'discontinued');
  const isCondition =
    cells.some(isHidden) &&
    cells.some((cell) => isShown(cell) && (cell !== '' || kind === 'hidden' || saysWhy)) &&
    cells.every((cell) => isShown(cell) || isHidden(cell));
  return isCondition ? isShown : undefined;
}
