import { useInfiniteQuery } from '@tanstack/react-query'
import { ArrowDown } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { Button } from '../ui/button.tsx'
import { LoadingShapes, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { useStickyScroll } from '../ui/sticky-scroll.ts'
import { messagesQuery } from './chat-api.ts'
import { Composer } from './composer.tsx'
import { LiveTurn } from './live-turn.tsx'
import { Message } from './message.tsx'
import { useTurn } from './turn.ts'

type ConversationProps = {
  agent: WebAgent
  /** Null for what is said outside of sessions. */
  sessionId: string | null
  blocked: ReactNode
}

/** The history of one conversation, the turn under way, and the composer; `blocked` is why the agent cannot be written to. */
export function Conversation({ agent, sessionId, blocked }: ConversationProps) {
  const place = { agentId: agent.id, sessionId }
  const history = useInfiniteQuery(messagesQuery(place))
  const { turn, announcement, isBusy, send, retry, stop } = useTurn(place)
  // What the turn itself shows stands in the history as well.
  const hidden = turn?.messageIds.join(' ') ?? ''
  const messages = useMemo(
    () =>
      history.data?.pages
        .toReversed()
        .flatMap((page) => page.messages)
        .filter(({ id }) => !hidden.split(' ').includes(id)),
    [history.data, hidden],
  )
  const shown = useMemo(() => ({ messages, turn }), [messages, turn])
  const { boxRef, isAway, onScroll, jumpToEnd } = useStickyScroll(shown, messages?.[0]?.id)
  const isEmpty = messages?.length === 0 && !turn
  return (
    <>
      <div className="relative flex min-h-0 flex-1 flex-col">
        <section
          ref={boxRef}
          onScroll={onScroll}
          aria-label={`Conversation with ${agent.name}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="min-h-0 flex-1 overflow-y-auto overscroll-contain -outline-offset-2 [overflow-anchor:none]"
        >
          <div className="mx-auto grid max-w-3xl grid-cols-1 gap-5 px-4 py-6 sm:px-8">
            {history.hasNextPage && (
              <Button
                className="justify-self-center"
                isPending={history.isFetchingNextPage}
                onClick={() => void history.fetchNextPage()}
              >
                Load older messages
              </Button>
            )}
            {history.error && (
              <LoadProblem
                what={messages ? 'Older messages' : 'The conversation'}
                error={history.error}
                onRetry={messages ? history.fetchNextPage : history.refetch}
              />
            )}
            {!messages && !history.error && <Loading />}
            {isEmpty && <Beginning agent={agent} canWrite={!blocked} />}
            <ol aria-label="Messages" className="grid grid-cols-1 gap-5 empty:hidden">
              {messages?.map((message) => (
                <Message key={message.id} message={message} agentName={agent.name} />
              ))}
              {turn && <LiveTurn turn={turn} agentName={agent.name} canRetry={!blocked} onRetry={retry} />}
            </ol>
          </div>
        </section>
        {isAway && (
          <Button className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lifted" onClick={jumpToEnd}>
            <ArrowDown aria-hidden className="size-4" />
            Latest
          </Button>
        )}
      </div>
      <p aria-live="polite" className="sr-only">
        {announcement && `${agent.name} says: ${announcement}`}
      </p>
      <Composer
        agentId={agent.id}
        draftOf={sessionId ?? agent.id}
        isBusy={isBusy}
        blocked={blocked}
        onSend={(text, attachments) => {
          jumpToEnd()
          send(text, attachments)
        }}
        onStop={stop}
      />
    </>
  )
}

function Beginning({ agent, canWrite }: { agent: WebAgent; canWrite: boolean }) {
  return (
    <div className="grid justify-items-center gap-3 py-16 text-center">
      <FieldMark seed={agent.id} className="size-14" />
      <h2 className="text-lg font-semibold">This is {agent.name}</h2>
      <p className="max-w-xs text-muted">Nothing has been said yet.{canWrite && ' Write the first message below.'}</p>
    </div>
  )
}

function Loading() {
  return (
    <LoadingShapes what="the conversation" className="grid gap-5">
      <Skeleton className="h-10 w-2/5 justify-self-end" />
      <Skeleton className="h-20 w-3/5" />
      <Skeleton className="h-10 w-1/3 justify-self-end" />
    </LoadingShapes>
  )
}
