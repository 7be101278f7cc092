import { TextField } from './field.tsx'

type CodeFieldProps = { label: string; isSixDigits?: boolean; error: string | undefined }

/** Accepts recovery codes too, unless `isSixDigits`. */
export function CodeField({ label, isSixDigits = false, error }: CodeFieldProps) {
  return (
    <TextField
      label={label}
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      autoFocus
      {...(isSixDigits
        ? { inputMode: 'numeric', maxLength: 8, placeholder: '123 456' }
        : { hint: 'Six digits from your authenticator app, or a recovery code.', maxLength: 64 })}
      error={error}
    />
  )
}
