interface Options {
  label: string;
  hint?: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

/** A checkbox of the platform. */
export function Check({ label, hint, isChecked, onChange }: Options) {
  return (
    <label className="check">
      <input type="checkbox" checked={isChecked} onChange={(event) => onChange(event.target.checked)} />
      <span>
        {label}
        {hint && <span className="muted check-hint">{hint}</span>}
      </span>
    </label>
  );
}
