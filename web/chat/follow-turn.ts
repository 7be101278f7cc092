import type { ChatTurn } from '../../src/features/conversations/chat/schemas.ts'
import { ReplyDelta, ToolCall, TurnRestart } from '../../src/features/conversations/chat/schemas.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { readTurn } from './chat-api.ts'

/** Delay before reconnecting after the browser gave up the stream. */
const AGAIN_MS = 2000

type Following = {
  onText: (text: string) => void
  onTool: (call: ToolCall) => void
  /** The agent starts its answer over, so earlier output is void. */
  onRestart: (restart: TurnRestart) => void
  onLost: (isLost: boolean) => void
  onEnd: (turn: ChatTurn) => void
  onFail: (error: unknown) => void
}

/**
 * Streams the rest of a turn after what `turn` already has, each chunk once across reconnects, until it ends.
 * @returns a function that stops following; the turn continues.
 */
export function followTurn(
  turn: ChatTurn,
  { onText, onTool, onRestart, onLost, onEnd, onFail }: Following,
): () => void {
  const leaving = new AbortController()
  let position = turn.position
  let leave: (() => void) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const settle = async () => {
    leave?.()
    try {
      const now = await readTurn(turn.id, leaving.signal)
      if (now.state !== 'running') return onEnd(now)
    } catch (error) {
      if (leaving.signal.aborted) return
      if (isFinal(error)) return onFail(error)
    }
    if (leaving.signal.aborted) return
    onLost(true)
    timer = setTimeout(follow, AGAIN_MS)
  }
  const connect = () => {
    const source = new EventSource(`/api/chat/turns/${turn.id}/events?after=${position}`)
    source.addEventListener('open', () => onLost(false))
    source.addEventListener('delta', ({ data, lastEventId }) => {
      const end = Number(lastEventId)
      // The browser may replay events after a reconnect.
      if (end <= position) return
      position = end
      onText(ReplyDelta.parse(JSON.parse(data)).text)
    })
    source.addEventListener('tool', ({ data, lastEventId }) => {
      const end = Number(lastEventId)
      if (end <= position) return
      position = end
      onTool(ToolCall.parse(JSON.parse(data)))
    })
    source.addEventListener('restart', ({ data, lastEventId }) => {
      const end = Number(lastEventId)
      if (end <= position) return
      position = end
      onRestart(TurnRestart.parse(JSON.parse(data)))
    })
    for (const end of ['done', 'stopped', 'failed']) source.addEventListener(end, () => void settle())
    source.addEventListener('error', () => {
      if (leaving.signal.aborted) return
      onLost(true)
      if (source.readyState === EventSource.CLOSED) void settle()
    })
    return source
  }
  const follow = () => {
    leave = whileInSight(connect)
  }

  if (turn.state === 'running') follow()
  else void settle()
  return () => {
    leaving.abort()
    clearTimeout(timer)
    leave?.()
  }
}

/** Returns whether retrying is pointless: the server does not know the turn. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && Number(error.status) >= 400 && Number(error.status) < 500
}
