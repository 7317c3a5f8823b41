import { Link } from 'wouter';
import type { Schemas } from '../api';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { DataTable, type DataColumn } from './table';
import { Time } from './time';
import { Value, visible } from './value';

type Partner = Schemas['Partner'];
type Reason = Schemas['KnownAttentionReason'];
type Attention = Schemas['PartnerAttention'];

/** Reasons with correct products; all other reasons mean that products are wrong or missing. */
const mild: readonly string[] = ['many_skipped', 'more_skipped', 'stale', 'never_run'] satisfies Reason[];

/** A reason in words, marked as urgent or not. A newer service can have other reasons. */
function ReasonText({ reason, count }: Attention) {
  const say = texts.attention.reasons[reason as Reason] as ((count: number) => string) | undefined;
  return (
    <span className={`sign ${mild.includes(reason) ? 'watch' : 'bad'}`}>
      {say ? say(count) : <Value>{reason}</Value>}
    </span>
  );
}

/** The reasons of a partner in words, worst first. */
export function AttentionList({ partner }: { partner: Partner }) {
  return (
    <ul className="plain">
      {partner.attention.map((each) => (
        <li key={each.reason}>
          <ReasonText {...each} />
        </li>
      ))}
    </ul>
  );
}

interface Line {
  partner: string;
  attention: Attention;
}

interface Options {
  partners: Partner[];
  /** Whether the view is about one partner, whose name is its title. */
  isOfPartner?: boolean;
}

/** A line for each partner and reason, with the action that it wants. */
export function AttentionTable({ partners, isOfPartner = false }: Options) {
  const { title, what, since } = texts.attention;
  const lines = partners.flatMap(({ partner_name, attention }) =>
    attention.map((each): Line => ({ partner: partner_name, attention: each })),
  );
  const name: DataColumn<Line> = {
    title: texts.partners.name,
    kind: 'name',
    cell: ({ partner }) => (
      <Link href={addressOf('partner', { partner })}>
        <Value>{partner}</Value>
      </Link>
    ),
  };
  const reason: DataColumn<Line> = {
    title: what,
    kind: isOfPartner ? 'name' : undefined,
    cell: ({ attention }) => <ReasonText {...attention} />,
  };
  return (
    <DataTable
      label={title}
      columns={[
        ...(isOfPartner ? [reason] : [name, reason]),
        { title: since, kind: 'tight', cell: ({ attention }) => <Time at={attention.since} /> },
        { title: texts.attention.way, kind: 'tight', cell: (line) => <Way {...line} /> },
      ]}
      rows={lines}
      keyOf={({ partner, attention }) => `${attention.reason}/${partner}`}
    />
  );
}

function Way({ partner, attention: { reason } }: Line) {
  const { ways, otherWay, wayOf } = texts.attention;
  const way = (ways[reason as Reason] as string | undefined) ?? otherWay;
  return (
    <Link
      className="button small"
      href={addressOf('partnerPlace', { partner, place: reason })}
      aria-label={wayOf(way, visible(partner))}
    >
      {way}
    </Link>
  );
}
