import { type ComponentProps, useId } from 'react'

type TextAreaProps = ComponentProps<'textarea'> & {
  label: string
  error?: string | undefined
  /** Prose uses the page's font, code a monospaced one. */
  look?: 'code' | 'prose'
}

export function TextArea({ label, error, look = 'code', ...area }: TextAreaProps) {
  const id = useId()
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
