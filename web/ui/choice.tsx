import { type ReactNode, useId } from 'react'

type ChoiceProps = { label: string; value: string; onChoose: (value: string) => void; children: ReactNode }

/** A choice among tools, whose label is only heard. */
export function Choice({ label, value, onChoose, children }: ChoiceProps) {
  const id = useId()
  return (
    <>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => onChoose(event.target.value)}
        className="min-h-10 min-w-0 max-w-44 max-sm:max-w-none max-sm:flex-1 rounded-md border border-edge bg-surface px-2.5 text-base text-ink sm:text-[0.9375rem]"
      >
        {children}
      </select>
    </>
  )
}
