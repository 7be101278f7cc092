import { Search } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { KeyCaps } from './entries.tsx'
import { controlKey, useKeys } from './keys.ts'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))
const Shortcuts = lazy(async () => ({ default: (await import('./shortcuts.tsx')).Shortcuts }))

export function PaletteButton({ isAdmin }: { isAdmin: boolean }) {
  const { sheet, setSheet } = useKeys(isAdmin)
  const close = () => setSheet(null)
  return (
    <>
      <button
        type="button"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setSheet('palette')}
        className="flex size-9 shrink-0 items-center justify-center gap-2.5 rounded-md text-sm text-muted transition-colors hover:bg-sunken hover:text-ink md:h-9 md:w-full md:border md:border-line md:bg-surface md:px-2.5 md:hover:border-edge md:hover:bg-surface"
      >
        <Search aria-hidden className="size-4.5 md:size-4" />
        <span className="flex-1 text-left max-md:sr-only">Go to</span>
        <span aria-hidden className="max-md:hidden">
          <KeyCaps keys={[controlKey, 'K']} />
        </span>
      </button>
      <Suspense>
        {sheet === 'palette' && <Palette isAdmin={isAdmin} onClose={close} onShortcuts={() => setSheet('shortcuts')} />}
        {sheet === 'shortcuts' && <Shortcuts isAdmin={isAdmin} onClose={close} />}
      </Suspense>
    </>
  )
}
