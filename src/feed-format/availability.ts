/** Known values of `availability`. */
const knownAvailabilities: Readonly<Record<string, { orderable: boolean }>> = {
  in_stock: { orderable: true },
  available: { orderable: true },
  limited_stock: { orderable: true },
  low_stock: { orderable: true },
  preorder: { orderable: true },
  backorder: { orderable: true },
  out_of_stock: { orderable: false },
  unavailable: { orderable: false },
  sold_out: { orderable: false },
  discontinued: { orderable: false },
};

export function isKnownAvailability(word: string): boolean {
  return Object.hasOwn(knownAvailabilities, word);
}

/** The values with which a product can be ordered. A product without a value can be ordered too. */
export const orderableAvailabilities: readonly string[] = Object.keys(knownAvailabilities).filter(
  (word) => knownAvailabilities[word]!.orderable,
);

/** Variants in files with a format, besides those of the published format, after cleaning. */
const formatSpellings: Readonly<Record<string, string>> = {
  available_for_order: 'available',
  on_backorder: 'backorder',
  onbackorder: 'backorder',
  soldout: 'sold_out',
};

/** Types of https://schema.org/ItemAvailability. Orders come from afar: what only a shop sells cannot be ordered. */
const schemaTypes: Readonly<Record<string, string>> = {
  backorder: 'backorder',
  discontinued: 'discontinued',
  instock: 'in_stock',
  instoreonly: 'unavailable',
  limitedavailability: 'limited_stock',
  onlineonly: 'available',
  outofstock: 'out_of_stock',
  preorder: 'preorder',
  presale: 'preorder',
  soldout: 'sold_out',
};

/** Converts a cleaned word of a file with a format to the standard word; returns any other word unchanged. */
export function standardAvailability(word: string): string {
  const type = /^https?:\/\/(?:www\.)?schema\.org\/(?<type>[a-z]+)$/.exec(word)?.groups!['type'];
  const [words, key] = type === undefined ? [formatSpellings, word] : [schemaTypes, type];
  return Object.hasOwn(words, key) ? words[key]! : word;
}
