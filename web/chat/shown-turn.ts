import {
  type ChatAttachment,
  type ChatTurn,
  ReplyDelta,
  ToolCall,
  TurnRestart,
} from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { whileInSight } from '../api/while-in-sight.ts'
import { type Outgoing, readTurn } from './chat-api.ts'

/**
 * A message being sent and the reply so far. `id` is null until the server has accepted it. A finished turn becomes
 * two messages.
 */
export type Turn = {
  id: string | null
  messageIds: readonly string[]
  text: string
  attachments: readonly ChatAttachment[]
  /** The message being edited. */
  replaces: string | undefined
  reply: string
  toolCalls: readonly ToolCall[]
  sentAt: string
  state: 'waiting' | 'answering' | 'stopped' | 'failed'
  isLost: boolean
  problem: string | null
  /** A crash ended the turn and it could not be resumed. */
  isInterrupted: boolean
}

/** Error code of a turn that a crash ended. */
export const INTERRUPTED = 'TURN_INTERRUPTED'
/** Sent to continue such a turn. */
export const CONTINUE = 'Please continue where you were interrupted.'

/** `leave` stops following without stopping the turn. */
export type Followed = { id: string; leave: () => void }

const NOTHING: Turn = {
  id: null,
  messageIds: [],
  text: '',
  attachments: [],
  replaces: undefined,
  reply: '',
  toolCalls: [],
  sentAt: '',
  state: 'waiting',
  isLost: false,
  problem: null,
  isInterrupted: false,
}

export function toWaitingTurn({ text, attachments, replaces }: Outgoing): Turn {
  return { ...NOTHING, text, attachments, replaces, sentAt: new Date().toISOString() }
}

/** Draws a turn in progress. `onOver` gets its final state, or null when it can no longer be followed. */
export function openShownTurn(
  begun: ChatTurn,
  sent: Pick<Turn, 'attachments' | 'replaces'> | null,
  draw: (turn: Turn) => void,
  onOver: (ended: ChatTurn | null) => void,
): Followed {
  let shown = { ...toShownTurn(begun), ...(sent && { attachments: sent.attachments, replaces: sent.replaces }) }
  draw(shown)
  const drawing = drawOncePerFrame(() => draw(shown))
  const show = (change: Partial<Turn>) => {
    shown = { ...shown, ...change }
    drawing.request()
  }
  const leave = followTurn(begun, {
    onTool: (call) => show({ toolCalls: [...shown.toolCalls, call], state: 'answering' }),
    onRestart: () => show({ reply: '', toolCalls: [], state: 'waiting' }),
    onText: (text) => show({ reply: shown.reply + text, state: 'answering' }),
    onLost: (isLost) => show({ isLost }),
    onEnd: (ended) => {
      drawing.cancel()
      onOver(ended)
    },
    onFail: (error) => {
      drawing.cancel()
      onOver(null)
      draw({ ...shown, state: 'failed', problem: messageFor(error) })
    },
  })
  return {
    id: begun.id,
    leave: () => {
      leave()
      drawing.cancel()
    },
  }
}

function toShownTurn({ id, questionId, replyId, message, text, toolCalls, createdAt }: ChatTurn): Turn {
  const messageIds = replyId === null ? [questionId] : [questionId, replyId]
  return {
    ...NOTHING,
    id,
    messageIds,
    text: message,
    reply: text,
    toolCalls,
    sentAt: createdAt,
    state: text ? 'answering' : 'waiting',
  }
}

export function toEndedTurn(ended: ChatTurn): Turn {
  const state = ended.state === 'stopped' ? 'stopped' : 'failed'
  const isInterrupted = ended.errorCode === INTERRUPTED
  return { ...toShownTurn(ended), state, problem: ended.error, isInterrupted }
}

/** Batches chunks per frame; a long reply has thousands. */
function drawOncePerFrame(draw: () => void) {
  let frame = 0
  const request = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      draw()
    })
  }
  return { request, cancel: () => cancelAnimationFrame(frame) }
}

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
function followTurn(turn: ChatTurn, { onText, onTool, onRestart, onLost, onEnd, onFail }: Following): () => void {
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
