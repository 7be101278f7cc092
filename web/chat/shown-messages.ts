import type { InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { ChatMessage, MessageList } from '../../src/features/conversations/chat/schemas.ts'
import type { Turn } from './shown-turn.ts'

type History = ReturnType<typeof useInfiniteQuery<MessageList, Error, InfiniteData<MessageList>>>

/** Returns the messages that the turn in progress neither shows nor replaces. */
export function useShownMessages(data: InfiniteData<MessageList> | undefined, turn: Turn | null) {
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
export function useTarget(
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
