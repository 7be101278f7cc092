type PillsProps<Value extends string> = {
  label: string
  value: Value | undefined
  /** `count` is shown when known. */
  choices: readonly { value: Value | undefined; label: string; count?: number }[]
  onChoose: (value: Value | undefined) => void
}

export function Pills<Value extends string>({ label, value, choices, onChoose }: PillsProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields
    <div role="group" aria-label={label} className="flex flex-wrap gap-1.5">
      {choices.map((choice) => (
        <button
          key={choice.label}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
          className="inline-flex min-h-8 items-center gap-1.5 rounded-full border border-line bg-surface px-3 text-sm text-muted transition-colors hover:border-edge hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-ink"
        >
          {choice.label}{' '}
          {choice.count !== undefined && <span className="tabular-nums">{choice.count.toLocaleString('en')}</span>}
        </button>
      ))}
    </div>
  )
}
