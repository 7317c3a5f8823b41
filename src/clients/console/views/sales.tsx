import { Link } from 'wouter';
import { useFilters } from '../data/address';
import { useSoldCurrencies } from '../data/sales';
import { Empty } from '../parts/empty';
import { Choice } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { PeriodField, usePeriod } from '../parts/period-field';
import { Query } from '../parts/query';
import { useDeferred } from '../parts/use-deferred';
import { routes } from '../routes';
import { texts } from '../texts';
import { BestSellers } from './best-sellers';
import { SalesByPartner } from './sales-by-partner';
import { SalesOverTime } from './sales-over-time';

const usualPeriod = '30';

/** What was sold in a period: over time, by partner and by product. */
export function SalesView() {
  const currencies = useSoldCurrencies();
  return (
    <PageView title={texts.sales.title}>
      <Query of={currencies}>{(sold) => (sold.length === 0 ? <NoSales /> : <Sales sold={sold} />)}</Query>
    </PageView>
  );
}

const NoSales = () => (
  <Card>
    <Empty
      title={texts.sales.noneYet}
      lead={texts.sales.noneYetWay}
      action={
        <Link href={routes.catalog} className="button primary">
          {texts.nav.catalog}
        </Link>
      }
    />
  </Card>
);

/** @param sold - currencies of orders, the most frequent first: the first one is shown unless another is chosen */
function Sales({ sold }: { sold: string[] }) {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner').trim());
  const { period } = usePeriod(usualPeriod);
  const usual = sold[0]!;
  const currency = /^[A-Z]{3}$/.test(read('currency')) ? read('currency') : usual;
  const filter = { currency, ...period, ...(partner && { partner_name: partner }) };
  return (
    <>
      <Card>
        <div className="filters">
          <PeriodField usual={usualPeriod} />
          <PartnerField
            label={texts.catalog.partner}
            value={read('partner')}
            onChange={(name) => write({ partner: name })}
          />
          <Choice
            label={texts.sales.currency}
            value={currency}
            options={currenciesFor([...sold, currency])}
            onChange={(value) => write({ currency: value === usual ? '' : value })}
          />
        </div>
      </Card>
      <SalesOverTime filter={filter} />
      <div className="answers">
        <BestSellers filter={filter} />
        <SalesByPartner filter={filter} />
      </div>
    </>
  );
}

/** Returns all currencies, the given ones first. */
const currenciesFor = (first: string[]) =>
  [...new Set([...first, ...Intl.supportedValuesOf('currency')])].map((each) => [each, each] as const);
