import { type ComponentProps, createContext, type ReactNode, useContext, useId, useState } from 'react'

const controlClass =
  'w-full min-h-10 rounded-md border border-edge bg-surface px-3 text-base text-ink placeholder:text-muted aria-invalid:border-bad sm:text-[0.9375rem]'

/** Errors of the surrounding form by field name. */
export const FieldErrors = createContext<Record<string, string>>({})

type FieldProps = { label: string; hint?: ReactNode; error?: string | undefined }

/** `error` is read out with the field; it defaults to the one that the form has for `name`. */
export function TextField({ label, hint, error: given, ...input }: FieldProps & ComponentProps<'input'>) {
  const id = useId()
  const error = useFieldError(input.name, given)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input autoComplete="off" {...input} {...describe(id, hint, error)} className={controlClass} />
    </FieldFrame>
  )
}

/** The toggle's label omits "password", so that the field's label stays unique. */
export function PasswordField({ label, hint, error: given, ...input }: FieldProps & ComponentProps<'input'>) {
  const id = useId()
  const error = useFieldError(input.name, given)
  const [isShown, setShown] = useState(false)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <div className="relative">
        <input
          autoComplete="off"
          {...input}
          {...describe(id, hint, error)}
          type={isShown ? 'text' : 'password'}
          autoCapitalize="none"
          spellCheck={false}
          className={`${controlClass} pr-16`}
        />
        <button
          type="button"
          aria-controls={id}
          onClick={() => setShown(!isShown)}
          className="absolute inset-y-1 right-1 min-w-14 rounded px-2 text-sm text-muted hover:text-ink"
        >
          {isShown ? 'Hide' : 'Show'}
        </button>
      </div>
    </FieldFrame>
  )
}

/** Uses the native control, which needs no injected styles. */
export function SelectField({ label, hint, error: given, children, ...select }: FieldProps & ComponentProps<'select'>) {
  const id = useId()
  const error = useFieldError(select.name, given)
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <select {...select} {...describe(id, hint, error)} className={controlClass}>
        {children}
      </select>
    </FieldFrame>
  )
}

/** Checked boxes of one `name` are read together with `FormData.getAll`. */
export function CheckField({ label, hint, ...input }: Omit<FieldProps, 'error'> & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className="flex items-start gap-2.5">
      <input
        {...input}
        {...describe(id, hint, undefined)}
        type="checkbox"
        className="mt-0.5 size-4.5 shrink-0 accent-accent"
      />
      <div className="grid min-w-0 grid-cols-1">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {hint && (
          <div id={`${id}-hint`} className="text-sm wrap-anywhere text-muted">
            {hint}
          </div>
        )}
      </div>
    </div>
  )
}

function FieldFrame({ id, label, hint, error, children }: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {error && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      )}
      {hint && (
        <div id={`${id}-hint`} className="text-sm wrap-anywhere text-muted">
          {hint}
        </div>
      )}
    </div>
  )
}

function useFieldError(name: string | undefined, given: string | undefined): string | undefined {
  const errors = useContext(FieldErrors)
  return given ?? (name === undefined ? undefined : errors[name])
}

function describe(id: string, hint: ReactNode, error: string | undefined) {
  const parts = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean)
  return { id, 'aria-invalid': error ? true : undefined, 'aria-describedby': parts.join(' ') || undefined }
}

type CodeFieldProps = { label: string; isSixDigits?: boolean; error?: string | undefined }

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

type TextAreaProps = ComponentProps<'textarea'> & {
  label: string
  error?: string | undefined
  /** Prose uses the page's font, code a monospaced one. */
  look?: 'code' | 'prose'
}

export function TextArea({ label, error: given, look = 'code', ...area }: TextAreaProps) {
  const id = useId()
  const error = useFieldError(area.name, given)
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <textarea
        rows={6}
        spellCheck={look === 'prose'}
        {...area}
        id={id}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        className={`w-full rounded-md border border-edge bg-surface px-3 py-2 text-ink placeholder:text-muted aria-invalid:border-bad ${look === 'code' ? 'font-mono text-sm' : 'text-base sm:text-[0.9375rem]'}`}
      />
      {error && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  )
}
