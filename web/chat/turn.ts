import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { ChatMessage, SentMessage } from '../../src/features/talk/chat/schemas.ts'
import { forgetSession } from '../account/session.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { ApiError, isAbort, messageFor } from '../api/request.ts'
import { appendMessages, streamReply } from './chat-api.ts'

/** A message on its way and what has come back so far. A finished turn becomes two messages of the conversation. */
export type Turn = {
  text: string
  reply: string
  sentAt: string
  state: 'waiting' | 'answering' | 'stopped' | 'failed'
  problem: string | null
}

/** Sends messages to one agent, one at a time. `announcement` is the last complete reply, for screen readers. */
export function useTurn(agentId: string) {
  const client = useQueryClient()
  const [turn, setTurn] = useState<Turn | null>(null)
  const [announcement, setAnnouncement] = useState('')
  const abortRef = useRef<AbortController | null>(null)

  // Leaving the page does not stop a reply: it goes on and joins the conversation when it is complete.
  const run = async (text: string) => {
    const abort = new AbortController()
    abortRef.current = abort
    const begun: Turn = { text, reply: '', sentAt: new Date().toISOString(), state: 'waiting', problem: null }
    setTurn(begun)
    setAnnouncement('')
    let reply = ''
    const drawing = drawOncePerFrame(() => setTurn({ ...begun, reply, state: 'answering' }))
    try {
      const replies = streamReply(agentId, text, abort.signal)
      let next = await replies.next()
      for (; !next.done; next = await replies.next()) {
        reply += next.value
        drawing.request()
      }
      appendMessages(client, agentId, toAnsweredMessages(next.value, text))
      drawing.cancel()
      setTurn(null)
      setAnnouncement(next.value.reply)
    } catch (error) {
      drawing.cancel()
      if (error instanceof ApiError && error.status === 401) forgetSession(client)
      // The agent has stopped in the meantime; the page must learn it.
      if (error instanceof ApiError && error.status === 409) void client.invalidateQueries(agentQuery(agentId))
      const outcome = isAbort(error)
        ? ({ state: 'stopped', problem: null } as const)
        : ({ state: 'failed', problem: messageFor(error) } as const)
      setTurn({ ...begun, reply, ...outcome })
    }
  }

  const send = (text: string) => {
    if (turn) appendMessages(client, agentId, toUnansweredMessages(agentId, turn))
    void run(text)
  }
  const isBusy = turn?.state === 'waiting' || turn?.state === 'answering'
  return {
    turn,
    announcement,
    isBusy,
    send,
    retry: () => turn && void run(turn.text),
    stop: () => abortRef.current?.abort(),
  }
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

function toAnsweredMessages({ id, agentId, timestamp, reply }: SentMessage, text: string): ChatMessage[] {
  const message = { agentId, topic: null, timestamp, status: 'sent' } as const
  return [
    { ...message, id, sender: 'user', content: text },
    { ...message, id: `${id}:reply`, sender: 'agent', content: reply },
  ]
}

/** What stays of a turn that was stopped or failed, once another one begins. */
function toUnansweredMessages(agentId: string, { text, reply, sentAt }: Turn): ChatMessage[] {
  const message = { agentId, topic: null, timestamp: sentAt, status: 'failed' } as const
  const asked: ChatMessage = { ...message, id: `${sentAt}:asked`, sender: 'user', content: text }
  if (!reply) return [asked]
  return [asked, { ...message, id: `${sentAt}:reply`, sender: 'agent', content: reply }]
}
