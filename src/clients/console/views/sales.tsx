import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { count, money, percent } from '../locale';
import { Bars } from '../parts/bars';
import { Chart } from '../parts/chart';
import { Figures } from '../parts/figures';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { Card, Loading, PageView } from '../parts/page';
import { texts } from '../texts';

const defaultCurrency = 'EUR';

/** Sales as charts, each with its figures. */
export function SalesView() {
  const [read, write] = useFilters();
  const typed = read('currency') || defaultCurrency;
  const currency = /^[A-Za-z]{3}$/.test(typed) ? typed.toUpperCase() : defaultCurrency;
  const grain = read('grain') === 'monthly' ? 'monthly' : 'daily';
  return (
    <PageView title={texts.sales.title}>
      <Card>
        <div className="filters">
          <Field
            label={texts.sales.currency}
            maxLength={3}
            suggestions={['EUR', 'USD', 'GBP', 'CHF', 'PLN', 'SEK', 'JPY']}
            value={read('currency') || defaultCurrency}
            onChange={(value) => write({ currency: value })}
          />
          <Choice
            label={texts.sales.grain}
            value={grain}
            options={Object.entries(texts.sales.grains)}
            onChange={(value) => write({ grain: value })}
          />
        </div>
      </Card>
      <OverTime currency={currency} grain={grain} />
      <div className="columns">
        <ByPartner currency={currency} />
        <Share currency={currency} />
      </div>
    </PageView>
  );
}

interface Options {
  currency: string;
}

function OverTime({ currency, grain }: Options & { grain: Schemas['Grain'] }) {
  const sales = useQuery({
    queryKey: ['sales-over-time', currency, grain],
    queryFn: () =>
      bodyOf(client.GET('/analytics/sales-over-time', { params: { query: { currency, grain } } })),
  });
  const results = sales.data?.results;
  const { times, series } = useMemo(() => {
    const known = results ?? [];
    return {
      times: known.map(({ sales_period }) => Date.parse(sales_period) / 1000),
      series: [
        {
          label: texts.sales.total,
          color: '--accent' as const,
          kind: 'bars' as const,
          values: known.map(({ total_sales }) => Number(total_sales)),
        },
      ],
    };
  }, [results]);
  return (
    <Card title={texts.sales.overTime}>
      {sales.error && <FailureNotice error={sales.error} retry={() => void sales.refetch()} />}
      {sales.isPending && <Loading />}
      {results?.length === 0 && <p className="muted">{texts.sales.none(currency)}</p>}
      {results && results.length > 0 && (
        <>
          <Chart label={texts.sales.overTime} times={times} series={series} />
          <Figures
            label={texts.sales.overTime}
            columns={[texts.sales.period, texts.sales.units, texts.sales.total]}
            rows={results.map(({ sales_period, units_sold, total_sales }) => ({
              values: [sales_period, units_sold, total_sales],
              shown: [sales_period, count(units_sold), money(total_sales, currency)],
            }))}
          />
        </>
      )}
    </Card>
  );
}

function ByPartner({ currency }: Options) {
  const sales = useQuery({
    queryKey: ['sales-by-partner', currency],
    queryFn: () => bodyOf(client.GET('/analytics/sales-by-partner', { params: { query: { currency } } })),
  });
  const results = sales.data?.results;
  return (
    <Card title={texts.sales.byPartner}>
      {sales.error && <FailureNotice error={sales.error} retry={() => void sales.refetch()} />}
      {sales.isPending && <Loading />}
      {results?.length === 0 && <p className="muted">{texts.sales.none(currency)}</p>}
      {results && results.length > 0 && (
        <>
          <Bars
            label={texts.sales.byPartner}
            bars={results.map(({ partner_name, total_sales }) => ({
              name: partner_name,
              value: Number(total_sales),
              text: money(total_sales, currency),
            }))}
          />
          <Figures
            label={texts.sales.byPartner}
            columns={[texts.partners.name, texts.sales.units, texts.sales.total]}
            rows={results.map(({ partner_name, units_sold, total_sales }) => ({
              values: [partner_name, units_sold, total_sales],
              shown: [partner_name, count(units_sold), money(total_sales, currency)],
            }))}
          />
        </>
      )}
    </Card>
  );
}

function Share({ currency }: Options) {
  const share = useQuery({
    queryKey: ['revenue-share', currency],
    queryFn: () => bodyOf(client.GET('/analytics/revenue-share', { params: { query: { currency } } })),
  });
  const results = share.data?.results;
  return (
    <Card title={texts.sales.share}>
      {share.error && <FailureNotice error={share.error} retry={() => void share.refetch()} />}
      {share.isPending && <Loading />}
      {results?.length === 0 && <p className="muted">{texts.sales.none(currency)}</p>}
      {results && results.length > 0 && (
        <>
          <Bars
            label={texts.sales.share}
            bars={results.map(({ partner_name, revenue_pct }) => ({
              name: partner_name,
              value: revenue_pct,
              text: percent(revenue_pct / 100),
            }))}
          />
          <Figures
            label={texts.sales.share}
            columns={[texts.partners.name, texts.sales.total, texts.sales.percent]}
            rows={results.map(({ partner_name, total_revenue, revenue_pct }) => ({
              values: [partner_name, total_revenue, revenue_pct],
              shown: [partner_name, money(total_revenue, currency), percent(revenue_pct / 100)],
            }))}
          />
        </>
      )}
    </Card>
  );
}
