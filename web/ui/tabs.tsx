import { Link, type LinkProps } from '@tanstack/react-router'

/** Pages that belong together, as a row of links; the one that is open stands out. */
export function Tabs({
  label,
  places,
}: {
  label: string
  /** One with `hasInner` stands out for the pages below it too. */
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
