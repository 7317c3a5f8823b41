interface Options {
  label: string;
  /** 0 to 1, from old to new. */
  shares: number[];
}

const step = 8;
const height = 24;

/** Small bars. */
export function Trend({ label, shares }: Options) {
  const highest = Math.max(...shares, 0.01);
  return (
    <svg className="trend" role="img" aria-label={label} width={shares.length * step} height={height}>
      {shares.map((share, at) => {
        const tall = Math.max(1, (share / highest) * height);
        return <rect key={at} x={at * step} y={height - tall} width={step - 2} height={tall} />;
      })}
    </svg>
  );
}
