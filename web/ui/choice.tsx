import { ArrowDownWideNarrow, ArrowUpNarrowWide } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { IconButton } from './button.tsx'

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
