import { useId } from 'react';
import {
  FieldError,
  Input,
  Label,
  Text,
  TextField,
  type TextFieldProps,
} from 'react-aria-components/TextField';

export interface FieldOptions extends Omit<TextFieldProps, 'className' | 'children'> {
  label: string;
  hint?: string;
  error?: string;
  /** Suggested values; any other can be entered too. */
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
  /** Whether the label is for screen readers only. */
  isLabelHidden?: boolean;
}

/** A choice from a list, as a control of the platform, which keyboards, phones and screen readers support. */
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
