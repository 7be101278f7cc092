import { useLayoutEffect, useRef } from 'react'

const maxHeightPx = 220

export function useGrowingArea(text: string) {
  const areaRef = useRef<HTMLTextAreaElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    const area = areaRef.current
    if (!area) return
    area.style.height = 'auto'
    area.style.height = `${Math.min(area.scrollHeight, maxHeightPx)}px`
    area.style.overflowY = area.scrollHeight > maxHeightPx ? 'auto' : 'hidden'
  }, [text])
  return areaRef
}
