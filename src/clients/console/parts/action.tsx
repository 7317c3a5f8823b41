import { Button, type ButtonProps } from 'react-aria-components/Button';

interface Options extends Omit<ButtonProps, 'className'> {
  /** `primary`: the main action of the view; `danger`: an action that removes something. */
  kind?: 'primary' | 'danger';
}

export function Action({ kind, ...props }: Options) {
  return <Button {...props} className={`button ${kind ?? ''}`} />;
}
