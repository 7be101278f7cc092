import { type ComponentProps, useId } from 'react'

type TextAreaProps = ComponentProps<'textarea'> & { label: string; error?: string | undefined }

/** Several labelled lines of text. */
export function TextArea({ label, error, ...area }: TextAreaProps) {
  const id = useId()
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <textarea
        rows={6}
        spellCheck={false}
        {...area}
        id={id}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        className="w-full rounded-md border border-edge bg-surface px-3 py-2 font-mono text-sm text-ink placeholder:text-muted aria-invalid:border-bad"
      />
      {error && (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      )}
    </div>
  )
}
