import { memo, type ReactNode, startTransition, useEffect, useMemo, useState } from 'react'
import { CopyButton } from '../../ui/copy-button.tsx'

/** Highlighting longer code would block the page. */
const MAX_COLOURED = 50_000

type CodeBlockProps = { code: string; language: string; isOpen: boolean }

export const CodeBlock = memo(function CodeBlock({ code, language, isOpen }: CodeBlockProps) {
  const coloured = useColours(code, isOpen ? '' : language)
  return (
    <figure className="overflow-hidden rounded-lg border border-line bg-sunken">
      <figcaption className="flex min-h-9 items-center justify-between gap-2 border-b border-line pl-3 text-xs text-muted">
        <span>{language || 'Code'}</span>
        <CopyButton text={code} what="code" look="ghost" />
      </figcaption>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="overflow-x-auto px-3 py-2.5 font-mono text-[0.8125rem] leading-relaxed -outline-offset-2"
      >
        <code>{coloured ?? code}</code>
      </pre>
    </figure>
  )
})

type ColourCode = (code: string, language: string) => ReactNode

let colourCode: ColourCode | null = null

/** Highlighting is loaded lazily; unknown languages stay plain. */
function useColours(code: string, language: string): ReactNode {
  const [isLoaded, setLoaded] = useState(colourCode !== null)
  const isWanted = language !== '' && code.length <= MAX_COLOURED
  useEffect(() => {
    if (!isWanted || isLoaded) return
    void import('./colour-code.ts')
      .then((chunk) => {
        colourCode = chunk.colourCode
        startTransition(() => setLoaded(true))
      })
      // Without highlighting, the code is still readable.
      .catch(() => undefined)
  }, [isWanted, isLoaded])
  return useMemo(
    () => (isWanted && isLoaded && colourCode ? colourCode(code, language) : null),
    [code, language, isWanted, isLoaded],
  )
}
