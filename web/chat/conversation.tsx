import { type InfiniteData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { ArrowDown, LoaderCircle } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { ChatMessage, MessageList } from '../../src/features/conversations/chat/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { refresh } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { useIsLost } from '../shell/connection.ts'
import { Button } from '../ui/button.tsx'
import { LoadingShapes, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { useStickyScroll } from '../ui/sticky-scroll.ts'
import { useAttachments } from './attachments.tsx'
import { type ChatPlace, messagesQuery, newMessagesQuery, runningTurnsQuery } from './chat-api.ts'
import { Composer } from './composer.tsx'
import { useDraft } from './draft.ts'
import { LiveTurnView } from './live-turn.tsx'
import { MessageRows, type MessageWays } from './message.tsx'
import { CONTINUE, type Turn } from './shown-turn.ts'
import { useTurn } from './turn.ts'

type ConversationProps = {
  agent: WebAgent
  /** Null for messages outside of sessions. */
  sessionId: string | null
  target: Target | null
  blocked: ReactNode
}

/** `blocked` says why the agent cannot receive messages. */
export function Conversation({ agent, sessionId, target, blocked }: ConversationProps) {
  const place = { agentId: agent.id, sessionId }
  const draftOf = sessionId ?? agent.id
  const draft = useDraft(draftOf)
  const attachments = useAttachments(agent.id, draftOf)
  const talk = useTurn(place, {
    draftOf,
    onUnsent: (message) => {
      draft.putBack(message.text)
      attachments.putBack(message.attachments)
    },
  })
  const { turn, announcement, isBusy } = talk
  const ways = useMessageWays(talk.send, !blocked && !isBusy)
  const scrolled = useRef(() => {})
  return (
    <>
      <Messages
        agent={agent}
        sessionId={sessionId}
        target={target}
        canWrite={!blocked}
        turn={turn}
        ways={ways}
        onRetry={() => void talk.retry()}
        onContinue={() => talk.send({ text: CONTINUE, attachments: [] })}
        jump={scrolled}
      />
      <p aria-live="polite" className="sr-only">
        {announcement && `${agent.name} says: ${announcement}`}
      </p>
      <Composer
        draft={draft}
        attachments={attachments}
        isBusy={isBusy}
        blocked={blocked}
        refusal={talk.refusal}
        onSend={(text, files) => {
          scrolled.current()
          talk.send({ text, attachments: files })
        }}
        onStop={talk.stop}
      />
    </>
  )
}

type Talk = ReturnType<typeof useTurn>

/** Stays the same object while a reply grows, so the messages above are not redrawn. */
function useMessageWays(send: Talk['send'], canSend: boolean): MessageWays {
  const latest = useRef(send)
  useEffect(() => {
    latest.current = send
  })
  return useMemo(() => {
    if (!canSend) return null
    return {
      onResend: ({ id }, text) => latest.current({ text, attachments: [], replaces: id }),
      onContinue: () => latest.current({ text: CONTINUE, attachments: [] }),
    }
  }, [canSend])
}

type MessagesProps = Pick<ConversationProps, 'agent' | 'sessionId' | 'target'> & {
  canWrite: boolean
  turn: Talk['turn']
  ways: MessageWays
  onRetry: () => void
  onContinue: () => void
  /** Receives a function that scrolls to the end. */
  jump: { current: () => void }
}

function Messages({ agent, sessionId, target, canWrite, turn, ways, onRetry, onContinue, jump }: MessagesProps) {
  const place = { agentId: agent.id, sessionId }
  const history = useInfiniteQuery(messagesQuery(place))
  useQuery({ ...newMessagesQuery(place), enabled: history.isSuccess && !turn })
  const messages = useShownMessages(history.data, turn)
  const shown = useMemo(() => ({ messages, turn }), [messages, turn])
  const { boxRef, isAway, onScroll, jumpToEnd, leaveEnd } = useStickyScroll(shown, messages?.[0]?.id)
  const isMissing = useTarget(target, messages, history, leaveEnd)
  useEffect(() => {
    jump.current = jumpToEnd
  }, [jump, jumpToEnd])
  const isEmpty = messages?.length === 0 && !turn
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <ConnectionBanner place={place} isStreamLost={turn?.isLost === true} />
      <section
        ref={boxRef}
        onScroll={onScroll}
        aria-label={`Conversation with ${agent.name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain -outline-offset-2 [overflow-anchor:none]"
      >
        <div className="mx-auto grid max-w-3xl grid-cols-1 gap-3 px-4 py-6 sm:px-8">
          <Earlier history={history} isMissing={isMissing} />
          {!messages && !history.error && <Loading />}
          {isEmpty && <Beginning agent={agent} canWrite={canWrite} />}
          <ol aria-label="Messages" className="grid grid-cols-1 gap-1 empty:hidden">
            {messages && (
              <MessageRows
                messages={messages}
                agentName={agent.name}
                target={target?.messageId ?? null}
                hasTurn={turn !== null}
                ways={ways}
              />
            )}
            {turn && (
              <LiveTurnView
                turn={turn}
                agentId={agent.id}
                agentName={agent.name}
                canRetry={canWrite}
                onRetry={onRetry}
                onContinue={onContinue}
              />
            )}
          </ol>
        </div>
      </section>
      {isAway && (
        <Button
          Icon={ArrowDown}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lifted"
          onClick={jumpToEnd}
        >
          Latest
        </Button>
      )}
    </div>
  )
}

type EarlierProps = {
  history: {
    data: unknown
    error: unknown
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => unknown
    refetch: () => unknown
  }
  isMissing: boolean
}

function Earlier({ history, isMissing }: EarlierProps) {
  return (
    <>
      {isMissing && <Notice tone="note">This message is no longer part of the conversation.</Notice>}
      {history.hasNextPage && (
        <Button
          className="justify-self-center"
          isPending={history.isFetchingNextPage}
          onClick={() => void history.fetchNextPage()}
        >
          Load older messages
        </Button>
      )}
      {history.error !== null && (
        <LoadProblem
          what={history.data ? 'older messages' : 'conversation'}
          error={history.error}
          onRetry={history.data ? history.fetchNextPage : history.refetch}
        />
      )}
    </>
  )
}

function Beginning({ agent, canWrite }: { agent: WebAgent; canWrite: boolean }) {
  return (
    <div className="grid justify-items-center gap-3 py-16 text-center">
      <FieldMark seed={agent.id} className="size-14" />
      <h2 className="text-lg font-semibold">This is {agent.name}</h2>
      <p className="max-w-xs text-muted">No messages yet.{canWrite && ' Write the first message below.'}</p>
    </div>
  )
}

function Loading() {
  return (
    <LoadingShapes what="conversation" className="grid gap-5">
      <Skeleton className="h-10 w-2/5 justify-self-end" />
      <Skeleton className="h-20 w-3/5" />
      <Skeleton className="h-10 w-1/3 justify-self-end" />
    </LoadingShapes>
  )
}

/** Reloads missed messages once the server is reachable again. `isStreamLost` is about the reply in progress. */
function ConnectionBanner({ place, isStreamLost }: { place: ChatPlace; isStreamLost: boolean }) {
  const { error } = useQuery(runningTurnsQuery(place.agentId))
  const isLostEverywhere = useIsLost()
  const isLost = isStreamLost || isLostEverywhere || (error instanceof ApiError && error.status === 0)
  const wasLost = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per reconnect
  useEffect(() => {
    if (wasLost.current && !isLost) {
      void refresh(runningTurnsQuery(place.agentId))
      void refresh(newMessagesQuery(place))
    }
    wasLost.current = isLost
  }, [isLost])
  return (
    <p
      role="status"
      className="absolute top-2 left-1/2 z-10 flex w-max max-w-[calc(100%-2rem)] -translate-x-1/2 items-center gap-2 rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-lifted empty:hidden"
    >
      {isLost && !isLostEverywhere && (
        <>
          <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          Connection lost. Reconnecting…
        </>
      )}
    </p>
  )
}

type History = ReturnType<typeof useInfiniteQuery<MessageList, Error, InfiniteData<MessageList>>>

/** Returns the messages that the turn in progress neither shows nor replaces. */
function useShownMessages(data: InfiniteData<MessageList> | undefined, turn: Turn | null) {
  const hidden = turn?.messageIds.join(' ') ?? ''
  // A message that did not reach the server replaces nothing.
  const replaced = turn && !(turn.id === null && turn.state === 'failed') ? turn.replaces : undefined
  return useMemo(() => data && listShown(data.pages, hidden.split(' '), replaced), [data, hidden, replaced])
}

function listShown(
  pages: readonly MessageList[],
  hidden: readonly string[],
  replaced: string | undefined,
): ChatMessage[] {
  const all = pages.toReversed().flatMap((page) => page.messages)
  const end = replaced === undefined ? -1 : all.findIndex(({ id }) => id === replaced)
  return (end === -1 ? all : all.slice(0, end)).filter(({ id }) => !hidden.includes(id))
}

/** A new object each time, so that searching again scrolls again. */
export type Target = { messageId: string }

/** Scrolls to a found message, loading older pages as needed. @returns whether it no longer exists. */
function useTarget(
  target: Target | null,
  messages: readonly ChatMessage[] | undefined,
  {
    hasNextPage,
    isFetching,
    isError,
    fetchNextPage,
  }: Pick<History, 'hasNextPage' | 'isFetching' | 'isError' | 'fetchNextPage'>,
  leaveEnd: () => void,
): boolean {
  const isFound = target !== null && messages?.some(({ id }) => id === target.messageId) === true
  useEffect(() => {
    if (target === null || isFound || !hasNextPage || isFetching || isError) return
    void fetchNextPage()
  }, [target, isFound, hasNextPage, isFetching, isError, fetchNextPage])
  useEffect(() => {
    if (!isFound || target === null) return
    leaveEnd()
    const found = document.querySelector<HTMLElement>(`[data-message="${CSS.escape(target.messageId)}"]`)
    found?.focus({ preventScroll: true })
    found?.scrollIntoView({ block: 'center' })
  }, [isFound, target, leaveEnd])
  return target !== null && messages !== undefined && !isFound && !hasNextPage && !isFetching
}
