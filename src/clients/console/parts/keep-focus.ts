/** What can have the focus, and is not disabled. */
const isAble = (element: Element) => element.isConnected && !element.matches(':disabled');

/**
 * Moves the focus on when what has it is removed or disabled: back to it when it is able again, else to the heading of what
 * was around it. The browser would leave it on the body, from where a keyboard begins anew and a screen reader says nothing.
 * @returns ends that
 */
export function keepFocus(): () => void {
  let focused: Element | undefined;
  let around: Element[] = [];
  const forget = () => (focused = undefined);
  const remember = ({ target }: FocusEvent) => {
    const element = target as Element;
    // A dialog returns it to what had opened the dialog.
    if (element.closest('[role=dialog]')) return;
    focused = element;
    around = [];
    for (let each = element.parentElement; each; each = each.parentElement) around.push(each);
  };
  const restore = () => {
    if (!focused || document.activeElement !== document.body) return;
    if (isAble(focused)) return (focused as HTMLElement).focus({ preventScroll: true });
    // It may be a request that disables it.
    if (focused.isConnected) return;
    const heading = around
      .filter((each) => each.isConnected)
      .map((each) => each.querySelector<HTMLElement>('h1, h2, h3'))
      .find((each) => each !== null);
    if (!heading) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
  const changes = new MutationObserver(restore);
  changes.observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  // Who presses on what cannot have the focus leaves it on purpose.
  document.addEventListener('pointerdown', forget);
  document.addEventListener('focusin', remember);
  return () => {
    changes.disconnect();
    document.removeEventListener('pointerdown', forget);
    document.removeEventListener('focusin', remember);
  };
}
