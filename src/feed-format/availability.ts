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
