import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ChatTurn } from '../../src/features/conversations/chat/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { forgetSession, refresh } from '../api/query-client.ts'
import { ApiError, messageFor } from '../api/request.ts'
import {
  beginTurn,
  type ChatPlace,
  chatSessionsQuery,
  messagesQuery,
  type Outgoing,
  readNewMessages,
  runningTurnsQuery,
  stopTurn,
} from './chat-api.ts'
import { forgetSending, keepSending, newSendingKey, readSending } from './draft.ts'
import { type Followed, openShownTurn, type Turn, toEndedTurn, toWaitingTurn } from './shown-turn.ts'

/** Broadcasts to other tabs that a turn has begun. */
const CHANNEL = 'stead-turns'

type TurnOptions = {
  /** Storage key of the draft. */
  draftOf: string
  /** Restores an unsent message to where it was written. */
  onUnsent: (message: Outgoing) => void
}

/**
 * Sends messages one at a time and joins a turn begun elsewhere. `announcement` is the last complete reply, for
 * screen readers; `refusal` says why the last message was not sent.
 */
export function useTurn(place: ChatPlace, { draftOf, onUnsent }: TurnOptions) {
  const { agentId } = place
  const { turn, setTurn, announcement, join, finish, abandon, isHere } = useFollowedTurn(place)
  const [refusal, setRefusal] = useState<string | null>(null)

  const send = async (message: Outgoing) => {
    setRefusal(null)
    const waiting = toWaitingTurn(message)
    setTurn(waiting)
    keepSending(draftOf, { ...message, attachments: [...message.attachments] })
    try {
      const begun = await beginTurn(place, message)
      announce(agentId)
      forgetSending(draftOf, message.key)
      if (!isHere.current) return
      if (message.replaces) void refresh(messagesQuery(place))
      join(begun, waiting)
    } catch (error) {
      forgetSending(draftOf, message.key)
      noteRefusal(agentId, error)
      // An edited message stays in place; a new one returns to the draft.
      if (message.replaces) return setTurn({ ...waiting, state: 'failed', problem: messageFor(error) })
      onUnsent(message)
      setTurn(null)
      setRefusal(messageFor(error))
    }
  }
  useSendingAgain(draftOf, send, (message) => {
    onUnsent(message)
    setRefusal('The page was closed before the message was sent.')
  })
  const sendNew = (message: Omit<Outgoing, 'key'>) => void send({ ...message, key: newSendingKey() })
  /** @returns the question of the turn. */
  const end = async (turnId: string): Promise<string | null> => {
    try {
      const ended = await stopTurn(turnId)
      abandon(turnId)
      await finish(ended)
      return ended.questionId
    } catch (error) {
      setTurn((now) => now && { ...now, problem: messageFor(error) })
      return null
    }
  }
  return {
    turn,
    refusal,
    announcement,
    isBusy: turn?.state === 'waiting' || turn?.state === 'answering',
    send: sendNew,
    retry: async () => {
      if (!turn) return
      const isBegun = turn.id !== null
      const isRunning = turn.state === 'waiting' || turn.state === 'answering'
      const replaces = turn.id && isRunning ? await end(turn.id) : isBegun ? turn.messageIds[0] : turn.replaces
      // The server keeps the files of a message it has accepted.
      if (replaces) sendNew({ text: turn.text, attachments: isBegun ? [] : turn.attachments, replaces })
    },
    stop: () => void (turn?.id && end(turn.id)),
  }
}

/** The turn begun here, or one found in progress. */
function useFollowedTurn(place: ChatPlace) {
  const { agentId, sessionId } = place
  const [turn, setTurn] = useState<Turn | null>(null)
  const [announcement, setAnnouncement] = useState('')
  const followed = useRef<Followed | null>(null)
  const isHere = useRef(true)
  const running = useQuery(runningTurnsQuery(agentId))
  const joinable = running.data?.turns.findLast((each) => each.sessionId === sessionId)

  const abandon = (turnId?: string) => {
    if (turnId !== undefined && followed.current?.id !== turnId) return
    followed.current?.leave()
    followed.current = null
  }
  const finish = async (ended: ChatTurn) => {
    followed.current = null
    await readNewMessages(place).catch(() => undefined)
    refreshLists(agentId)
    setAnnouncement(ended.state === 'done' ? ended.text : '')
    const next = ended.state === 'done' ? null : toEndedTurn(ended)
    // Another message may have been sent in the meantime.
    setTurn((now) => (now && now.id !== ended.id ? now : next))
  }
  const join = (begun: ChatTurn, sent: Turn | null) => {
    if (followed.current?.id === begun.id) return
    abandon()
    setAnnouncement('')
    followed.current = openShownTurn(begun, sent, setTurn, (ended) => {
      followed.current = null
      if (ended) void finish(ended)
    })
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: joins once per turn found
  useEffect(() => {
    if (joinable) join(joinable, null)
  }, [joinable?.id])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs on unmount only
  useEffect(() => {
    isHere.current = true
    return () => {
      // The turn continues and can be joined later.
      isHere.current = false
      abandon()
    }
  }, [])
  useOtherTabs(agentId)
  return { turn, setTurn, announcement, join, finish, abandon, isHere }
}

/** Resends a message whose sending a reload interrupted; its key prevents duplicates. */
function useSendingAgain(draftOf: string, send: (message: Outgoing) => void, onUnsent: (message: Outgoing) => void) {
  const isDone = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once on mount
  useEffect(() => {
    const message = isDone.current ? null : readSending(draftOf)
    isDone.current = true
    if (!message) return
    if (message.until > Date.now()) return send(message)
    forgetSending(draftOf, message.key)
    onUnsent(message)
  }, [])
}

function useOtherTabs(agentId: string): void {
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = ({ data }) => {
      if (data === agentId) void refresh(runningTurnsQuery(agentId))
    }
    return () => channel.close()
  }, [agentId])
}

function refreshLists(agentId: string): void {
  void refresh(runningTurnsQuery(agentId))
  // A session is named after its first message.
  void refresh(chatSessionsQuery(agentId))
}

function noteRefusal(agentId: string, error: unknown): void {
  if (!(error instanceof ApiError)) return
  if (error.status === 401) forgetSession()
  // The agent has stopped; reload its status.
  if (error.status === 409) void refresh(agentQuery(agentId))
}

function announce(agentId: string): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(agentId)
  channel.close()
}
