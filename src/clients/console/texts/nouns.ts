import { count, plural } from '../locale';

/** Makes a function that returns a count with its noun. */
const counted = (one: string, other: string) => (value: number) =>
  `${count(value)} ${plural(value, { one, other })}`;

export const productsOf = counted('product', 'products');
export const rowsOf = counted('row', 'rows');
export const columnsOf = counted('column', 'columns');
