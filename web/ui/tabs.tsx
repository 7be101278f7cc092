import { Link, type LinkProps } from '@tanstack/react-router'

export function Tabs({
  label,
  places,
}: {
  label: string
  /** With `hasInner`, stays active on the pages below it. */
  places: readonly { to: NonNullable<LinkProps['to']>; label: string; hasInner?: boolean }[]
}) {
  return (
    <nav aria-label={label} className="flex flex-wrap gap-0.5 rounded-lg bg-sunken p-0.5">
      {places.map((place) => (
        <Link
          key={place.to}
          to={place.to}
          activeOptions={{ exact: !place.hasInner, includeSearch: false }}
          className="inline-flex min-h-8 items-center rounded-md border border-transparent px-2.5 text-sm font-medium whitespace-nowrap text-muted hover:text-ink aria-[current=page]:border-line aria-[current=page]:bg-surface aria-[current=page]:text-ink aria-[current=page]:shadow-xs"
        >
          {place.label}
        </Link>
      ))}
    </nav>
  )
}
