import { figure, shareOfTarget, type Result, type Spread } from './report';

const rowHeight = 26;
const top = 64;
const bottom = 48;
const plotWidth = 520;
/** Width of the text of value and target. */
const right = 170;
const characterWidth = 6.7;
const gap = 14;
const colours = { met: '#1a7f4b', missed: '#c0392b', text: '#1f2430', faint: '#6b7280', grid: '#e3e6ea' };
/** Possible ticks; the axis spans as many as it needs. */
const ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/** In pixels. */
interface Frame {
  left: number;
  width: number;
  height: number;
  ticks: readonly number[];
  /** Position of a share of a target, clamped to the axis. */
  x: (share: number) => number;
}

interface Row {
  label: string;
  result: Result;
  share: Spread;
}

/**
 * Draws results with a target as a dot plot in SVG: the share of the target on a logarithmic axis, 1 being the target. A
 * dot is the median; its line spans the best to the worst round.
 */
export function plotResults(results: readonly Result[], caption: string): string {
  const rows = results.flatMap((result): Row[] => {
    const share = shareOfTarget(result);
    return share ? [{ label: `${result.part}: ${result.name}`, result, share }] : [];
  });
  const frame = fitFrame(rows);
  const { width, height } = frame;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
      ` font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12" fill="${colours.text}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(16, 24, 'Share of its target that each measurement takes', 'font-size="15" font-weight="600"'),
    text(16, 43, caption, `fill="${colours.faint}" font-size="11"`),
    ...plotAxis(frame),
    ...rows.map((row, at) => plotRow(row, frame, top + (at + 0.5) * rowHeight)),
    '</svg>\n',
  ].join('\n');
}

/** All values fit between the ticks; the target has room on both sides. */
function fitFrame(rows: readonly Row[]): Frame {
  const least = Math.min(0.5, ...rows.map(({ share }) => share.min));
  const most = Math.max(2, ...rows.map(({ share }) => share.max));
  const low = ticks.findLast((tick) => tick <= least) ?? ticks[0]!;
  const high = ticks.find((tick) => tick >= most) ?? ticks.at(-1)!;
  const left = Math.ceil(gap * 2 + characterWidth * Math.max(30, ...rows.map(({ label }) => label.length)));
  return {
    left,
    width: left + plotWidth + right,
    height: top + rows.length * rowHeight + bottom,
    ticks: ticks.filter((tick) => tick >= low && tick <= high),
    x(share) {
      const shown = Math.min(Math.max(share, low), high);
      return Math.round(left + (plotWidth * Math.log(shown / low)) / Math.log(high / low));
    },
  };
}

function plotAxis({ left, height, ticks, x }: Frame): string[] {
  const end = height - bottom;
  const lines = ticks.flatMap((tick) => {
    const stroke = tick === 1 ? `stroke="${colours.text}" stroke-width="1.5"` : `stroke="${colours.grid}"`;
    const label = tick === 1 ? 'target' : `${tick} ×`;
    return [
      `<line x1="${x(tick)}" x2="${x(tick)}" y1="${top - 4}" y2="${end}" ${stroke}/>`,
      text(x(tick), end + 16, label, `text-anchor="middle" fill="${colours.faint}"`),
    ];
  });
  const legend = '← better · dot: median of the rounds, line: best to worst round';
  return [
    ...lines,
    text(
      left + plotWidth / 2,
      end + 36,
      legend,
      `text-anchor="middle" fill="${colours.faint}" font-size="11"`,
    ),
  ];
}

function plotRow({ label, result, share }: Row, { left, x }: Frame, y: number): string {
  const colour = result.met ? colours.met : colours.missed;
  const { value, ratio, unit, target } = result;
  const reached = ratio ? figure(ratio.median) : `${figure(value.median)} ${unit}`;
  const sign = target!.kind === 'at most' ? '≤' : '≥';
  const whisker = `stroke="${colour}" stroke-width="2.5" stroke-linecap="round" opacity="0.45"`;
  return [
    text(left - gap, y + 4, label, 'text-anchor="end"'),
    `<line x1="${x(share.min)}" x2="${x(share.max)}" y1="${y}" y2="${y}" ${whisker}/>`,
    `<circle cx="${x(share.median)}" cy="${y}" r="5" fill="${colour}"/>`,
    text(left + plotWidth + gap, y + 4, `${reached} (${sign} ${figure(target!.value)})`, `fill="${colour}"`),
  ].join('\n');
}

function text(x: number, y: number, content: string, attributes: string): string {
  const escaped = content.replace(/[&<>]/g, (special) => `&#${special.charCodeAt(0)};`);
  return `<text x="${x}" y="${y}" ${attributes}>${escaped}</text>`;
}
