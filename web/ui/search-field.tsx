import { Search } from 'lucide-react'
import { type ChangeEvent, useEffect, useId, useRef } from 'react'

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
