import type { Locator, Page } from 'playwright-core';

/** A cell of the skipped rows, by the name of its column and the line of its row. */
export const mendCell = (page: Page, column: string, line: number): Locator =>
  page.locator(`[role=grid] tr[data-line="${line}"] td[data-name="${column}"]`);

/** Changes a cell of the skipped rows by keys, like a person. */
export async function fillCell(page: Page, column: string, line: number, value: string): Promise<void> {
  await mendCell(page, column, line).focus();
  await mendCell(page, column, line).click();
  const field = page.getByRole('textbox', { name: `${column}, line ${line}`, exact: true });
  // The first click may have selected the cell only.
  if (!(await field.isVisible())) await mendCell(page, column, line).press('Enter');
  await field.fill(value);
  await field.press('Enter');
}
