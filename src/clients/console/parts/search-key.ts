const search = 'main input[type=search]';

/** Whether a search was asked for while its view was not shown yet. */
let isAwaited = false;

/** Moves the focus to the search of the view. @returns whether it has one */
export function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>(search);
  field?.focus();
  field?.select();
  return field !== null;
}

/** As `focusSearch`, if a search was asked for before the view was shown. */
export function focusAwaitedSearch(): boolean {
  const hasFocus = isAwaited && focusSearch();
  isAwaited = false;
  return hasFocus;
}

const isTyped = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, select, textarea, [contenteditable]');

/** Listens for `/`: focuses the search of the view. @param open - opens a view with a search @returns stop function */
export function listenForSearch(open: () => void): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyped(event.target)) return;
    if (document.querySelector('[role=dialog]')) return;
    event.preventDefault();
    if (focusSearch()) return;
    isAwaited = true;
    open();
  };
  document.addEventListener('keydown', listen);
  return () => document.removeEventListener('keydown', listen);
}
