import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const nearPx = 64

/**
 * Keeps a scrolling box at its end unless the reader has scrolled up. Content inserted above (a new `firstKey`) does
 * not move what is being read.
 */
export function useStickyScroll(content: unknown, firstKey: string | undefined) {
  const boxRef = useRef<HTMLDivElement>(null)
  const known = useRef({ isPinned: true, firstKey, height: 0, clientHeight: 0 })
  const [isAway, setAway] = useState(false)

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever the content changes
  useLayoutEffect(() => {
    const box = boxRef.current
    if (!box) return
    const { isPinned, firstKey: before, height } = known.current
    if (isPinned) box.scrollTop = box.scrollHeight
    else if (before !== firstKey) box.scrollTop += box.scrollHeight - height
    known.current = { isPinned, firstKey, height: box.scrollHeight, clientHeight: box.clientHeight }
  }, [content, firstKey])

  // Late rendering, such as highlighted code, changes the height without new content.
  useEffect(() => {
    const box = boxRef.current
    const inner = box?.firstElementChild
    if (!box || !inner) return
    const observer = new ResizeObserver(() => {
      if (known.current.isPinned) box.scrollTop = box.scrollHeight
      else setAway(!isAtEnd(box))
      known.current.height = box.scrollHeight
      known.current.clientHeight = box.clientHeight
    })
    observer.observe(inner)
    observer.observe(box)
    return () => observer.disconnect()
  }, [])

  const onScroll = useCallback(() => {
    const box = boxRef.current
    if (!box) return
    const { height, clientHeight } = known.current
    const isPinned = isAtEnd(box)
    // Resizing the box must not count as scrolling.
    if (!isPinned && (box.scrollHeight !== height || box.clientHeight !== clientHeight)) return
    known.current.isPinned = isPinned
    setAway(!isPinned)
  }, [])

  const jumpToEnd = useCallback(() => {
    known.current.isPinned = true
    setAway(false)
    boxRef.current?.scrollTo({ top: boxRef.current.scrollHeight })
  }, [])

  /** The reader moves elsewhere, such as to a found message. */
  const leaveEnd = useCallback(() => {
    known.current.isPinned = false
  }, [])

  return { boxRef, isAway, onScroll, jumpToEnd, leaveEnd }
}

function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < nearPx
}
