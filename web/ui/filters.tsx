import { ArrowDownWideNarrow, ArrowUpNarrowWide, Search } from 'lucide-react'
import { type ChangeEvent, type ReactNode, useEffect, useId, useRef } from 'react'
import { IconButton } from './button.tsx'

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

type ChoiceProps = { label: string; value: string; onChoose: (value: string) => void; children: ReactNode }

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

type SortChoiceProps<Sort extends string> = {
  /** Labels of the sort fields in list order. */
  words: Readonly<Record<Sort, string>>
  sort: Sort
  order: 'asc' | 'desc'
  /** Without an order, the field's default applies. */
  onChoose: (chosen: { sort: Sort; order: 'asc' | 'desc' | undefined }) => void
}

export function SortChoice<Sort extends string>({ words, sort, order, onChoose }: SortChoiceProps<Sort>) {
  const sorts = Object.keys(words).filter((each): each is Sort => Object.hasOwn(words, each))
  const Order = order === 'asc' ? ArrowUpNarrowWide : ArrowDownWideNarrow
  return (
    <>
      <Choice
        label="Sort by"
        value={sort}
        onChoose={(value) => onChoose({ sort: sorts.find((each) => each === value) ?? sort, order: undefined })}
      >
        {sorts.map((each) => (
          <option key={each} value={each}>
            {words[each]}
          </option>
        ))}
      </Choice>
      <IconButton
        label={order === 'asc' ? 'Ascending. Reverse order' : 'Descending. Reverse order'}
        onClick={() => onChoose({ sort, order: order === 'asc' ? 'desc' : 'asc' })}
      >
        <Order aria-hidden className="size-4.5" />
      </IconButton>
    </>
  )
}

const REST_MS = 250

type SearchFieldProps = {
  label: string
  placeholder: string
  value: string
  maxLength: number
  onSearch: (words: string) => void
  /** Focuses the field from anywhere on the page. */
  shortcut?: string
  className?: string
}

/** Searches while the user types. */
export function SearchField({
  label,
  placeholder,
  value,
  maxLength,
  onSearch,
  shortcut,
  className = '',
}: SearchFieldProps) {
  const id = useId()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const ask = ({ target }: ChangeEvent<HTMLInputElement>) => {
    clearTimeout(timer.current)
    const words = target.value.trim()
    timer.current = setTimeout(() => onSearch(words), REST_MS)
  }
  return (
    <search className={`relative block ${className}`}>
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search aria-hidden className="pointer-events-none absolute top-3 left-3 size-4 text-muted" />
      <input
        id={id}
        type="search"
        autoComplete="off"
        spellCheck={false}
        maxLength={maxLength}
        placeholder={placeholder}
        defaultValue={value}
        aria-keyshortcuts={shortcut}
        onChange={ask}
        className="min-h-10 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-base text-ink placeholder:text-muted sm:text-[0.9375rem]"
      />
    </search>
  )
}
