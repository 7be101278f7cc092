import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { ReplyText } from './reply-text.tsx'

/** Loaded lazily, because only the chat needs it; falls back to plain text. */
const loading = import('./markdown/markdown.tsx').then(
  ({ Markdown }) => ({ default: Markdown }),
  () => ({ default: ReplyText }),
)
const Markdown = lazy(() => loading)

/** Parsing speed, about. */
const CHARACTERS_PER_MS = 100

type AgentTextProps = { text: string; isGrowing?: boolean }

/**
 * Renders Markdown, or plain text until the renderer is loaded. The longer the last block of a growing text, the less
 * often it is redrawn, so that drawing leaves most of the time free.
 */
export function AgentText({ text, isGrowing = false }: AgentTextProps) {
  const tail = text.length - text.lastIndexOf('\n\n')
  const thinned = useThinned(text, tail / CHARACTERS_PER_MS)
  return (
    <Suspense fallback={<ReplyText text={text} />}>
      <Markdown text={isGrowing ? thinned : text} isGrowing={isGrowing} />
    </Suspense>
  )
}

/** Returns `text`, updated at most every `pauseMs`. */
function useThinned(text: string, pauseMs: number): string {
  const [shown, setShown] = useState(text)
  const shownAt = useRef(0)
  useEffect(() => {
    if (text === shown) return
    const wait = Math.max(0, shownAt.current + pauseMs - performance.now())
    const timer = setTimeout(() => {
      shownAt.current = performance.now()
      setShown(text)
    }, wait)
    return () => clearTimeout(timer)
  }, [text, shown, pauseMs])
  return shown
}
