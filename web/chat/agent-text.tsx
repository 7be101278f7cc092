import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { ReplyText } from './reply-text.tsx'

/** It takes its time to load, and no other page needs it. Text is text all the same when it cannot be loaded. */
const loading = import('./markdown/markdown.tsx').then(
  ({ Markdown }) => ({ default: Markdown }),
  () => ({ default: ReplyText }),
)
const Markdown = lazy(() => loading)

/** Parsing so many characters may take about a millisecond. */
const CHARACTERS_PER_MS = 100

type AgentTextProps = { text: string; isGrowing?: boolean }

/**
 * What an agent says, as Markdown; as plain text until that can be shown. While it grows, the longer its last block is, the
 * less often it is drawn anew, so that drawing leaves most of the time free.
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

/** `text`, which changes no more often than every `pauseMs`. */
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
