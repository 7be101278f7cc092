/** Keeps the connection during a short look at another tab. */
const GRACE_MS = 2000

/**
 * Keeps the event stream of `connect` open only while the page is visible, because HTTP/1.1 browsers allow six
 * connections per server across all tabs.
 * @returns a function that closes it.
 */
export function whileInSight(connect: () => EventSource): () => void {
  let source: EventSource | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  const close = () => {
    clearTimeout(timer)
    source?.close()
    source = null
  }
  const follow = () => {
    clearTimeout(timer)
    if (document.hidden) timer = setTimeout(close, GRACE_MS)
    else source ??= connect()
  }
  document.addEventListener('visibilitychange', follow)
  follow()
  return () => {
    document.removeEventListener('visibilitychange', follow)
    close()
  }
}
