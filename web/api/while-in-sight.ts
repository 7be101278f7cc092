/** Who looks at another tab for a moment keeps the connection. */
const GRACE_MS = 2000

/**
 * Keeps the event stream that `connect` opens while the page can be seen, and opens it anew when the page comes back into
 * sight. A browser has six connections to a server without HTTP/2, for all tabs together: six that nobody looks at would
 * leave a seventh waiting for ever. @returns what ends it.
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
