import { Link } from 'wouter';

interface Options {
  /** Name of the navigation, for screen readers. */
  label: string;
  tabs: { text: string; href: string; isCurrent: boolean }[];
}

/** The parts of one thing, each with an address of its own. */
export function Tabs({ label, tabs }: Options) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ text, href, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
