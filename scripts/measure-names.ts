import { readFileSync } from 'node:fs';
import { meaningOf, type HeaderMeaning } from '../src/feed-format/detect/header-meaning';

/* Measures how many headers of a list get the right field: measure-names.ts FILE.tsv [quiet]. Columns: language, field, header. */

/** A weaker claim is none. */
const claimed = 0.5;
/** Our columns: a header of the field `other` may claim none of them. */
const ours = new Set([
  'sku',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
]);
const priceKinds: Readonly<Record<string, string>> = {
  purchase: 'purchase_price',
  list: 'list_price',
  special: 'special_price',
};

/** Returns the fields of the list that a meaning stands for. */
function fieldsOf(meaning: HeaderMeaning | undefined): string[] {
  if (!meaning || meaning.strength < claimed) return ['other'];
  const { field, kind } = meaning;
  if (field === 'price') return [priceKinds[kind!] ?? 'price'];
  // An identifier serves as sku if there is no other.
  if (field === 'id') return ['sku', 'other'];
  if (field === 'sku' && kind === 'supplier') return ['sku', 'other'];
  return ours.has(field) ? [field] : [field, 'other'];
}

function main(file: string, isQuiet: boolean): void {
  const lines = readFileSync(file, 'utf8').split(/\r?\n/).slice(1);
  const totals = new Map<string, { right: number; all: number }>();
  const count = (name: string, isRight: boolean) => {
    const total = totals.get(name) ?? { right: 0, all: 0 };
    totals.set(name, { right: total.right + Number(isRight), all: total.all + 1 });
  };
  for (const line of lines) {
    const [language, field, header] = line.split('\t');
    if (language === undefined || field === undefined || header === undefined) continue;
    const meaning = meaningOf(header);
    const isRight = fieldsOf(meaning).includes(field);
    for (const name of ['all', `language ${language}`, `field ${field}`]) count(name, isRight);
    if (!isRight && !isQuiet)
      console.log(
        [
          language,
          field,
          header,
          meaning ? `${meaning.field} ${meaning.kind ?? ''} ${meaning.strength}` : '-',
        ].join('\t'),
      );
  }
  for (const [name, { right, all }] of [...totals].sort(([a], [b]) => a.localeCompare(b)))
    console.log(`${name}: ${right} of ${all}, ${((100 * right) / all).toFixed(1)} %`);
}

const [file, mode] = process.argv.slice(2);
if (file === undefined) throw new Error('Missing file: measure-names.ts FILE.tsv [quiet]');
main(file, mode === 'quiet');
