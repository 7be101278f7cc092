import type { ChatAttachment, ChatTurn, ToolCall } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import type { Outgoing } from './chat-api.ts'
import { followTurn } from './follow-turn.ts'

/**
 * A message on its way and what has come back so far. `id` is null until the server has it, `messageIds` are those that it
 * has in the conversation. A finished turn becomes two messages of the conversation.
 */
export type Turn = {
  id: string | null
  messageIds: readonly string[]
  text: string
  attachments: readonly ChatAttachment[]
  /** The message in whose place it comes. */
  replaces: string | undefined
  reply: string
  toolCalls: readonly ToolCall[]
  sentAt: string
  state: 'waiting' | 'answering' | 'stopped' | 'failed'
  isLost: boolean
  problem: string | null
  /** The agent could not take it up again after a crash. */
  isInterrupted: boolean
}

/** The code of a turn that a crash has ended for good. */
export const INTERRUPTED = 'TURN_INTERRUPTED'
/** The message that goes on after such a turn. */
export const CONTINUE = 'Please continue where you were interrupted.'

/** A turn that is followed; `leave` lets it go on without this page. */
export type Followed = { id: string; leave: () => void }

/** A turn of which nothing is known. */
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

/** A message that is being sent. */
export function toWaitingTurn({ text, attachments, replaces }: Outgoing): Turn {
  return { ...NOTHING, text, attachments, replaces, sentAt: new Date().toISOString() }
}

/**
 * Draws a turn while it goes on, with what is known of its message. `onOver` hears how it ended, or null when it can be
 * followed no longer.
 */
export function showTurn(
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

/** What is shown of a turn that was stopped, or has failed. */
export function toEndedTurn(ended: ChatTurn): Turn {
  const state = ended.state === 'stopped' ? 'stopped' : 'failed'
  const isInterrupted = ended.errorCode === INTERRUPTED
  return { ...toShownTurn(ended), state, problem: ended.error, isInterrupted }
}

/** A long reply comes in thousands of pieces; drawing each one would keep the page busy. */
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
