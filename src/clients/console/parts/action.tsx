import { Button, type ButtonProps } from 'react-aria-components';

interface Options extends Omit<ButtonProps, 'className'> {
  /** `primary`: what the view is for; `danger`: what removes something. */
  kind?: 'primary' | 'danger';
}

export function Action({ kind, ...props }: Options) {
  return <Button {...props} className={`button ${kind ?? ''}`} />;
}
