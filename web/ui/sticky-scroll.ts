import { useCallback, useLayoutEffect, useRef, useState } from 'react'

const nearPx = 64

/**
 * Keeps a scrolling box at its end while the reader is there, and leaves it alone when they have scrolled up.
 * What is put in above (`firstKey` changes) does not move what is being read.
 */
export function useStickyScroll(content: unknown, firstKey: string | undefined) {
  const boxRef = useRef<HTMLDivElement>(null)
  const known = useRef({ isPinned: true, firstKey, height: 0 })
  const [isAway, setAway] = useState(false)

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever what the box shows has changed
  useLayoutEffect(() => {
    const box = boxRef.current
    if (!box) return
    const { isPinned, firstKey: before, height } = known.current
    if (isPinned) box.scrollTop = box.scrollHeight
    else if (before !== firstKey) box.scrollTop += box.scrollHeight - height
    known.current = { isPinned, firstKey, height: box.scrollHeight }
  }, [content, firstKey])

  const onScroll = useCallback(() => {
    const box = boxRef.current
    if (!box) return
    const isPinned = box.scrollHeight - box.scrollTop - box.clientHeight < nearPx
    known.current.isPinned = isPinned
    setAway(!isPinned)
  }, [])

  const jumpToEnd = useCallback(() => {
    known.current.isPinned = true
    setAway(false)
    boxRef.current?.scrollTo({ top: boxRef.current.scrollHeight })
  }, [])

  return { boxRef, isAway, onScroll, jumpToEnd }
}
