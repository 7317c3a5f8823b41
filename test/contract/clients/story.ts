/** What a client saw. Everything is the same with the mock and with the service. */
export interface Story {
  status: string;
  inserted: number;
  skipped: number;
  issueCodes: string[];
  rejects: string;
  /** Price by sku. */
  prices: Record<string, number | null | undefined>;
  total: number;
  /** An int64 in the document, and a number in every client. */
  unitsSold: number | undefined;
  /** `x-error-code` of an unknown order and of a limit of 0. */
  errorCodes: (string | null)[];
}

/** A partner's program: uploads, runs, lists and orders, and makes two requests that fail. */
export type Program = (url: string, key: string, partnerName: string) => Promise<Story>;

export const file = () => new File([csv], 'spring.csv', { type: 'text/csv' });
export const unknownOrder = 'OR99999';
/** Selects the response of the mock. The service ignores the preference. */
export const notFound = 'code=404';

const csv = `sku,product_name,price,currency
TENT-2,Two-person tent,189.90,EUR
LAMP-1,Head lamp,24.50,EUR
MAT-7,Sleeping mat,"1.299,00",EUR
`;

interface Item {
  product_id: string;
  sku: string | null;
  price?: number | null;
}

/** Two tents and a lamp. */
export const orderOf = (partnerName: string, products: Item[]) => ({
  partner_name: partnerName,
  items: [
    { product_id: idOf(products, 'TENT-2'), quantity: 2 },
    { product_id: idOf(products, 'LAMP-1'), quantity: 1 },
  ],
});

function idOf(products: Item[], sku: string): string {
  const product = products.find((each) => each.sku === sku);
  if (!product) throw new Error(`${sku} is not in the catalog`);
  return product.product_id;
}

interface Seen {
  partnerName: string;
  job: { status: string; summary?: { inserted: number; skipped: number } | null };
  issues: { items: { code: string }[] };
  rejects: string;
  products: Item[];
  order: { total_amount: number };
  sales: { results: { partner_name: string; units_sold: number }[] };
  errorCodes: (string | null)[];
}

export const storyOf = ({
  partnerName,
  job,
  issues,
  rejects,
  products,
  order,
  sales,
  errorCodes,
}: Seen): Story => ({
  status: job.status,
  inserted: job.summary!.inserted,
  skipped: job.summary!.skipped,
  issueCodes: issues.items.map(({ code }) => code),
  rejects,
  prices: Object.fromEntries(products.map(({ sku, price }) => [sku ?? '', price] as const)),
  total: order.total_amount,
  unitsSold: sales.results.find((each) => each.partner_name === partnerName)?.units_sold,
  errorCodes,
});

/** Makes a request that must fail. @param codeOf - reads the code of the error of the generated client */
export const codeOfFailure = <Failure>(
  request: Promise<unknown>,
  codeOf: (error: Failure) => string | null,
) => request.then(() => null, codeOf);
