import { useId } from 'react';
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from 'react-aria-components';

export interface FieldOptions extends Omit<TextFieldProps, 'className' | 'children'> {
  label: string;
  hint?: string;
  error?: string;
  /** Values to choose from, besides any other. */
  suggestions?: string[];
}

export function Field({ label, hint, error, suggestions, ...props }: FieldOptions) {
  const list = useId();
  return (
    <TextField {...props} isInvalid={error !== undefined} className="field">
      <Label>{label}</Label>
      <Input list={suggestions ? list : undefined} />
      {hint && (
        <Text slot="description" className="muted">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
      {suggestions && (
        <datalist id={list}>
          {suggestions.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </TextField>
  );
}

interface ChoiceOptions {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
  /** Whether the label is for readers of the screen only. */
  isLabelHidden?: boolean;
}

/** One of a list, by the control of the platform: keyboard, phone and screen reader know it. */
export function Choice({ label, value, options, onChange, isLabelHidden }: ChoiceOptions) {
  return (
    <label className="field">
      <span className={isLabelHidden ? 'hidden' : 'label'}>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
