/** Returns whether an element can have the focus, and is not disabled. */
const isAble = (element: Element) => element.isConnected && !element.matches(':disabled');

/**
 * Keeps the focus when its element is removed or disabled: returns it when the element is enabled again, else moves it to the heading
 * around it. The browser would move it to the body: a keyboard starts again there, and a screen reader says nothing.
 * @returns stop function
 */
export function keepFocus(): () => void {
  let focused: Element | undefined;
  let around: Element[] = [];
  const forget = () => (focused = undefined);
  const remember = ({ target }: FocusEvent) => {
    const element = target as Element;
    // A dialog returns it to the element that opened the dialog.
    if (element.closest('[role=dialog]')) return;
    focused = element;
    around = [];
    for (let each = element.parentElement; each; each = each.parentElement) around.push(each);
  };
  const restore = () => {
    if (!focused || document.activeElement !== document.body) return;
    if (isAble(focused)) return (focused as HTMLElement).focus({ preventScroll: true });
    // A request may have disabled it.
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
  // A click on an element that cannot have the focus removes it on purpose.
  document.addEventListener('pointerdown', forget);
  document.addEventListener('focusin', remember);
  return () => {
    changes.disconnect();
    document.removeEventListener('pointerdown', forget);
    document.removeEventListener('focusin', remember);
  };
}
