import { currencyInHeader } from '../../feed-format/currency';
import type { CellReading } from './cell-text';
import type { HeaderCell } from './header-row';
import type { SheetCell } from './sheet-rows';
import type { AddedCurrency } from './sheet-table';

/** Finds the currencies that the number formats of prices name, for a sheet without a column for them. */
export class AddedCurrencies {
  private readonly priced: HeaderCell | undefined;
  /** Columns of other prices. */
  private readonly rivals: ReadonlySet<number> = new Set();
  /** Currencies and signs of rivals that differ from that of the price, or of headers. */
  private readonly rivalNames = new Set<string>();
  private readonly headerCodes: readonly string[] = [];
  private readonly codes = new Set<string>();
  private readonly signs = new Set<string>();
  /** Whether a price names no currency. */
  private hasPlain = false;

  constructor(
    headers: readonly HeaderCell[],
    private readonly reading: CellReading,
  ) {
    if (headers.some(({ field }) => field === 'currency')) return;
    const prices = headers.filter(({ field }) => field === 'price');
    const [priced, ...others] = prices.sort((a, b) => b.strength - a.strength);
    this.priced = priced;
    this.rivals = new Set(others.map(({ column }) => column));
    this.headerCodes = prices.flatMap(({ header }) => currencyInHeader(header) ?? []);
  }

  /** Takes a row into account. */
  add(cells: readonly SheetCell[]): void {
    const price = this.priceIn(cells);
    if (!price) return;
    const { code, sign } = this.namedBy(price) ?? {};
    if (code !== undefined) this.codes.add(code);
    else if (sign !== undefined) this.signs.add(sign);
    else this.hasPlain = true;
    for (const cell of cells) {
      if (!this.rivals.has(cell.column)) continue;
      const rival = this.namedBy(cell);
      const name = rival?.code ?? rival?.sign;
      if (name !== undefined && name !== (code ?? sign)) this.rivalNames.add(name);
    }
  }

  /** All that columns and headers of prices name, if they do not agree. */
  private get differing(): string[] {
    const ofHeaders = this.codes.size === 0 ? [] : this.headerCodes;
    const isOne = this.codes.size === 1 && ofHeaders.every((code) => this.codes.has(code));
    if (this.rivalNames.size === 0 && (ofHeaders.length === 0 || isOne)) return [];
    return [...new Set([...this.codes, ...this.signs, ...this.rivalNames, ...ofHeaders])].sort();
  }

  /** Returns the column to add, when all rows are taken into account; null: not each price names a currency. */
  added(): AddedCurrency | null {
    if (!this.priced || this.codes.size === 0 || this.signs.size > 0 || this.hasPlain) return null;
    if (this.differing.length > 0) return null;
    return { column: this.priced.header, codes: [...this.codes].sort() };
  }

  /** Says why no column is added although formats name currencies; undefined: there is nothing to say. */
  doubt(): string | undefined {
    const [sign] = this.signs;
    if (!this.priced || this.added() || (this.codes.size === 0 && sign === undefined)) return undefined;
    const advice = 'Add a column currency, or set the currency of the partner.';
    const { differing } = this;
    if (differing.length > 0)
      return `Columns of prices differ in their currency: ${differing.join(', ')}. ${advice}`;
    return sign === undefined
      ? `Some prices of ${this.priced.header} show ${[...this.codes].join(', ')}, others no currency. ${advice}`
      : `Prices of ${this.priced.header} show ${sign}, which stands for several currencies. ${advice}`;
  }

  /** Returns the currency of a row; empty without a price. */
  currencyOf(cells: readonly SheetCell[]): string {
    const price = this.priceIn(cells);
    return (price && this.namedBy(price)?.code) ?? '';
  }

  private priceIn(cells: readonly SheetCell[]): SheetCell | undefined {
    return cells.find(({ column, text }) => column === this.priced?.column && text.trim() !== '');
  }

  private namedBy({ kind, style }: SheetCell) {
    return kind === 'number' ? this.reading.formats[style]?.currency : undefined;
  }
}
