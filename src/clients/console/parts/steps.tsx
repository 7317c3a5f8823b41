import { Link } from 'wouter';

interface Options {
  /** Name of the list, for screen readers. */
  label: string;
  /** In their order; an address leads back to a finished one. */
  steps: { text: string; href?: string }[];
  /** Position of the current step, from 0. */
  current: number;
}

/** The steps of a walk, with the current one. */
export function Steps({ label, steps, current }: Options) {
  return (
    <ol className="steps" aria-label={label}>
      {steps.map(({ text, href }, at) => (
        <li
          key={text}
          className={at < current ? 'done' : undefined}
          aria-current={at === current ? 'step' : undefined}
        >
          {href && at < current ? <Link href={href}>{text}</Link> : text}
        </li>
      ))}
    </ol>
  );
}
