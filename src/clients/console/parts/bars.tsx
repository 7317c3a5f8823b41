import { Link } from 'wouter';
import { Value } from './value';

interface Options {
  label: string;
  /** `href`: what leads to more about the name. */
  bars: { name: string; value: number; text: string; href?: string; isChosen?: boolean }[];
}

const shownMax = 12;

/** Horizontal bars, the largest first; the table of the figures has the rest. */
export function Bars({ label, bars }: Options) {
  const shown = bars.toSorted((a, b) => b.value - a.value).slice(0, shownMax);
  const highest = Math.max(...shown.map(({ value }) => value), 0);
  return (
    <ul className="bars" aria-label={label}>
      {shown.map(({ name, value, text, href, isChosen }) => (
        <li key={name}>
          {href ? (
            <Link href={href} aria-current={isChosen ? 'true' : undefined}>
              <Value>{name}</Value>
            </Link>
          ) : (
            <span>
              <Value>{name}</Value>
            </span>
          )}
          <span className="number">{text}</span>
          <progress aria-hidden max={highest || 1} value={value} />
        </li>
      ))}
    </ul>
  );
}
