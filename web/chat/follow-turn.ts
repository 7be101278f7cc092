import type { ChatTurn } from '../../src/features/conversations/chat/schemas.ts'
import { ReplyDelta, ToolCall, TurnRestart } from '../../src/features/conversations/chat/schemas.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { readTurn } from './chat-api.ts'

/** Asked again after so long when the browser has given a stream up, such as while the server is away. */
const AGAIN_MS = 2000

type Following = {
  onText: (text: string) => void
  onTool: (call: ToolCall) => void
  /** The agent answers anew: what was handed on before is void. */
  onRestart: (restart: TurnRestart) => void
  /** The connection is lost, or there again. */
  onLost: (isLost: boolean) => void
  onEnd: (turn: ChatTurn) => void
  onFail: (error: unknown) => void
}

/**
 * Hands on what an agent says in a turn after what `turn` has of it, each piece once, through lost connections, until it has
 * ended. @returns what ends the following; the turn goes on.
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
      // The same characters are never shown twice, whatever the browser asks for when it comes back.
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

/** A server that is away comes back; one that does not know the turn will not. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && 'status' in error && Number(error.status) >= 400 && Number(error.status) < 500
}
