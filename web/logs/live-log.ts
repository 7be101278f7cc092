import { useCallback, useEffect, useRef, useState } from 'react'
import { LogEvent } from '../../src/features/agents/logs/schemas.ts'
import { ApiError } from '../api/request.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { type LogRow, MAX_LINES, toRow, withFresh } from './log-lines.ts'
import { readPage, streamPath } from './logs-api.ts'

/** Batches lines, so that a flood does not block the page. */
const GATHER_MS = 120

export type LogConnection = 'connecting' | 'live' | 'interrupted' | 'refused'
type Shown = { rows: readonly LogRow[]; waiting: number }

const nothing: Shown = { rows: [], waiting: 0 }

/**
 * Follows the log: the newest lines, and the number of `waiting` ones since `isHeld`. The browser resumes after an
 * interruption without losing lines; `error` says why the server refused, `again` retries.
 */
export function useLiveLog(agentId: string, isHeld: boolean) {
  const [attempt, setAttempt] = useState(0)
  const [connection, setConnection] = useState<LogConnection>('connecting')
  const [error, setError] = useState<unknown>(null)
  const [shown, setShown] = useState(nothing)
  const fresh = useRef<LogRow[]>([])
  const held = useRef(isHeld)

  const show = useCallback(() => {
    const waiting = fresh.current
    if (held.current) return setShown(({ rows }) => ({ rows, waiting: Math.min(waiting.length, MAX_LINES) }))
    fresh.current = []
    setShown(({ rows }) => ({ rows: withFresh(rows, waiting), waiting: 0 }))
  }, [])

  useEffect(() => {
    held.current = isHeld
    if (!isHeld) show()
  }, [isHeld, show])

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt opens a new stream
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const asking = new AbortController()
    let last = ''
    fresh.current = []
    setShown(nothing)
    setConnection('connecting')
    setError(null)
    const leave = whileInSight(() => {
      const source = new EventSource(streamPath(agentId, last))
      source.addEventListener('line', ({ data, lastEventId }) => {
        const event = LogEvent.safeParse(parseJson(data))
        if (!event.success) return
        if (event.data.type === 'connected') return setConnection('live')
        last = lastEventId
        fresh.current.push(toRow(lastEventId, event.data, Date.now()))
        if (fresh.current.length > 2 * MAX_LINES) fresh.current.splice(0, MAX_LINES)
        timer ??= setTimeout(() => {
          timer = undefined
          show()
        }, GATHER_MS)
      })
      source.addEventListener('error', () => {
        if (source.readyState !== EventSource.CLOSED) return setConnection('interrupted')
        setConnection('refused')
        // EventSource hides the reason of a refusal; a plain request returns it.
        readPage(agentId, null, asking.signal)
          .then(() => setError(new ApiError(0, 'Live lines are unavailable. Stored lines can still be read.')))
          .catch((reason) => asking.signal.aborted || setError(reason))
      })
      return source
    })
    return () => {
      leave()
      asking.abort()
      clearTimeout(timer)
    }
  }, [agentId, attempt, show])

  return { ...shown, connection, error, again: () => setAttempt(attempt + 1) }
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return null
  }
}
