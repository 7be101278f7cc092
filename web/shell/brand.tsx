/** Same drawing as `icon.svg`. */
function BrandMark({ className }: { className: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={className}>
      <rect width="32" height="32" rx="7.5" className="fill-accent" />
      <g className="fill-none stroke-accent-ink" strokeWidth="2.6" strokeLinecap="round" strokeLinejoin="round">
        <path d="M6.5 15.5 16 7.5l9.5 8" />
        <path d="M10 20h12" />
        <path d="M10 25h12" opacity=".62" />
      </g>
    </svg>
  )
}

export function Brand() {
  return (
    <span className="flex items-center gap-2.5">
      <BrandMark className="size-7" />
      <span className="text-lg font-semibold tracking-tight">Stead</span>
    </span>
  )
}
