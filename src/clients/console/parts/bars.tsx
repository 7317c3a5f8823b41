import { Link } from 'wouter';
import { Value } from './value';

interface Options {
  label: string;
  /** `share`: of the whole, from 0 to 1. `href`: what leads to more about the name. */
  bars: { name: string; share: number; text: string; href?: string; isChosen?: boolean }[];
}

const shownMax = 12;

/** Shares as horizontal bars, the largest first; the table of the figures has the rest. */
export function Bars({ label, bars }: Options) {
  const shown = bars.toSorted((a, b) => b.share - a.share).slice(0, shownMax);
  return (
    <ul className="bars" aria-label={label}>
      {shown.map(({ name, share, text, href, isChosen }) => (
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
          <progress aria-hidden value={share} />
        </li>
      ))}
    </ul>
  );
}
