import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

const nearPx = 64

/**
 * Keeps a scrolling box at its end while the reader is there, and leaves it alone when they have scrolled up.
 * What is put in above (`firstKey` changes) does not move what is being read.
 */
export function useStickyScroll(content: unknown, firstKey: string | undefined) {
  const boxRef = useRef<HTMLDivElement>(null)
  const known = useRef({ isPinned: true, firstKey, height: 0, clientHeight: 0 })
  const [isAway, setAway] = useState(false)

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever what the box shows has changed
  useLayoutEffect(() => {
    const box = boxRef.current
    if (!box) return
    const { isPinned, firstKey: before, height } = known.current
    if (isPinned) box.scrollTop = box.scrollHeight
    else if (before !== firstKey) box.scrollTop += box.scrollHeight - height
    known.current = { isPinned, firstKey, height: box.scrollHeight, clientHeight: box.clientHeight }
  }, [content, firstKey])

  // What is drawn later, such as code in its colours, changes the height without any new content.
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
    // Another size moves the end away from the reader, not the reader from the end.
    if (!isPinned && (box.scrollHeight !== height || box.clientHeight !== clientHeight)) return
    known.current.isPinned = isPinned
    setAway(!isPinned)
  }, [])

  const jumpToEnd = useCallback(() => {
    known.current.isPinned = true
    setAway(false)
    boxRef.current?.scrollTo({ top: boxRef.current.scrollHeight })
  }, [])

  /** From now on the reader is elsewhere, such as at a message that was looked for. */
  const leaveEnd = useCallback(() => {
    known.current.isPinned = false
  }, [])

  return { boxRef, isAway, onScroll, jumpToEnd, leaveEnd }
}

function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight < nearPx
}
