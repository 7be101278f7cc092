import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ChatAttachment, ChatTurn, ToolCall } from '../../src/features/talk/chat/schemas.ts'
import { forgetSession } from '../account/session.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { beginTurn, messagesQuery, type Place, readNewMessages, runningTurnsQuery, stopTurn } from './chat-api.ts'
import { followTurn } from './follow-turn.ts'
import { sessionsQuery } from './sessions-api.ts'

/**
 * A message on its way and what has come back so far. `id` is null until the server has it, `messageIds` are those that it
 * has in the conversation. A finished turn becomes two messages of the conversation.
 */
export type Turn = {
  id: string | null
  messageIds: readonly string[]
  text: string
  /** Files that go with it, until the server has it. */
  attachments: readonly ChatAttachment[]
  reply: string
  toolCalls: readonly ToolCall[]
  sentAt: string
  state: 'waiting' | 'answering' | 'stopped' | 'failed'
  isLost: boolean
  problem: string | null
}

/** A turn that is followed; `leave` lets it go on without this page. */
type Followed = { id: string; leave: () => void }

/** Tells other tabs of this browser that a turn was begun. */
const CHANNEL = 'stead-turns'

/**
 * Sends messages to one agent, one at a time, and joins the turn that is under way, whichever page began it. `announcement`
 * is the last complete reply, for screen readers.
 */
export function useTurn(place: Place) {
  const { agentId, sessionId } = place
  const client = useQueryClient()
  const [turn, setTurn] = useState<Turn | null>(null)
  const [announcement, setAnnouncement] = useState('')
  const followed = useRef<Followed | null>(null)
  const isHere = useRef(true)
  const running = useQuery(runningTurnsQuery(agentId))
  const joinable = running.data?.turns.findLast((each) => each.sessionId === sessionId)

  const finish = async (ended: ChatTurn) => {
    followed.current = null
    await readNewMessages(client, place).catch(() => undefined)
    refreshLists(client, agentId)
    setAnnouncement(ended.state === 'done' ? ended.text : '')
    setTurn(ended.state === 'done' ? null : toEndedTurn(ended))
  }
  const join = (begun: ChatTurn) => {
    if (followed.current?.id === begun.id) return
    followed.current?.leave()
    followed.current = showTurn(begun, setTurn, (ended) => {
      followed.current = null
      if (ended) void finish(ended)
    })
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: joins once for each turn that is found
  useEffect(() => {
    if (joinable) join(joinable)
  }, [joinable?.id])
  useEffect(() => {
    isHere.current = true
    return () => {
      // The turn goes on, and is joined by whoever comes back.
      isHere.current = false
      followed.current?.leave()
      followed.current = null
    }
  }, [])
  useOtherTabs(agentId)

  const send = async (text: string, attachments: readonly ChatAttachment[], replaces?: string) => {
    setAnnouncement('')
    const waiting: Turn = { ...NOTHING, text, attachments, sentAt: new Date().toISOString() }
    setTurn(waiting)
    try {
      const begun = await beginTurn(place, text, { attachments, replaces })
      announce(agentId)
      if (!isHere.current) return
      if (replaces) void client.invalidateQueries({ queryKey: messagesQuery(place).queryKey })
      if (begun.state === 'running') join(begun)
      else await finish(begun)
    } catch (error) {
      noteRefusal(client, agentId, error)
      setTurn({ ...waiting, state: 'failed', problem: messageFor(error) })
    }
  }
  const stop = async () => {
    const id = turn?.id
    if (!id) return
    try {
      const ended = await stopTurn(id)
      if (followed.current?.id === id) {
        followed.current.leave()
        await finish(ended)
      }
    } catch (error) {
      setTurn((now) => now && { ...now, problem: messageFor(error) })
    }
  }
  return {
    turn,
    announcement,
    isBusy: turn?.state === 'waiting' || turn?.state === 'answering',
    send: (text: string, attachments: readonly ChatAttachment[]) => void send(text, attachments),
    retry: () => turn && void send(turn.text, turn.attachments, turn.messageIds[0]),
    stop: () => void stop(),
  }
}

const NOTHING: Turn = {
  id: null,
  messageIds: [],
  text: '',
  attachments: [],
  reply: '',
  toolCalls: [],
  sentAt: '',
  state: 'waiting',
  isLost: false,
  problem: null,
}

/** Draws a turn while it goes on. `onOver` hears how it ended, or null when it can be followed no longer. */
function showTurn(begun: ChatTurn, draw: (turn: Turn) => void, onOver: (ended: ChatTurn | null) => void): Followed {
  let shown = toShownTurn(begun)
  draw(shown)
  const drawing = drawOncePerFrame(() => draw(shown))
  const show = (change: Partial<Turn>) => {
    shown = { ...shown, ...change }
    drawing.request()
  }
  const leave = followTurn(begun, {
    onTool: (call) => show({ toolCalls: [...shown.toolCalls, call], state: 'answering' }),
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

function toEndedTurn(ended: ChatTurn): Turn {
  const state = ended.state === 'stopped' ? 'stopped' : 'failed'
  return { ...toShownTurn(ended), state, problem: ended.error }
}

/** Looks for a turn when another tab of this browser says that it has begun one. */
function useOtherTabs(agentId: string): void {
  const client = useQueryClient()
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = ({ data }) => {
      if (data === agentId) void client.invalidateQueries(runningTurnsQuery(agentId))
    }
    return () => channel.close()
  }, [agentId, client])
}

function refreshLists(client: QueryClient, agentId: string): void {
  void client.invalidateQueries(runningTurnsQuery(agentId))
  // A session is called after what is said first in it.
  void client.invalidateQueries({ queryKey: sessionsQuery(agentId).queryKey })
}

function noteRefusal(client: QueryClient, agentId: string, error: unknown): void {
  if (!(error instanceof ApiError)) return
  if (error.status === 401) forgetSession(client)
  // The agent has stopped in the meantime; the page must learn it.
  if (error.status === 409) void client.invalidateQueries(agentQuery(agentId))
}

function announce(agentId: string): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(agentId)
  channel.close()
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
