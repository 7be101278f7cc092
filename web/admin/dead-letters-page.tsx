import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import type { ShownMessage } from '../../src/features/payments/underground/schemas.ts'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, LoadProblem } from '../ui/notice.tsx'
import { deadLettersQuery, replayDeadLetter } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'

/** Page `/admin/dead-letters`. */
export function DeadLettersPage() {
  return (
    <AdminFrame
      title="Dead letters"
      lead="Messages between agents that could not be delivered. Resend retries delivery from the start."
    >
      <DeadLetters />
    </AdminFrame>
  )
}

function DeadLetters() {
  const { data, error, refetch, ...paging } = useInfiniteQuery(deadLettersQuery())
  const messages = data?.pages.flatMap((page) => page.messages)
  if (!messages && error) return <LoadProblem what="dead letters" error={error} onRetry={refetch} />
  if (!messages) return <LoadingRows what="dead letters" />
  if (messages.length === 0) {
    return (
      <p className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        No undelivered messages
      </p>
    )
  }
  return (
    <>
      <ul aria-label="Dead letters" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {messages.map((message) => (
          <DeadLetter key={message.id} message={message} />
        ))}
      </ul>
      <ShowMore what="dead letters" error={error} {...paging} />
    </>
  )
}

function DeadLetter({ message }: { message: ShownMessage }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: () => replayDeadLetter(message.id) })
  return (
    <li className="grid grid-cols-1 gap-2 px-3 py-3 sm:px-4">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 gap-1">
          <p className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
            <span className="font-medium break-all">{message.action}</span>
            <span className="text-sm text-muted">
              <Moment at={message.createdAt} as="minute" />, {message.attempts}{' '}
              {message.attempts === 1 ? 'attempt' : 'attempts'}
            </span>
          </p>
          <p className="text-sm break-all text-muted">
            from {message.from} to {message.to}
          </p>
          {message.lastError && <p className="text-sm break-words">Last response: {message.lastError}</p>}
        </div>
        <Button isPending={isPending} onClick={() => mutate()}>
          Resend
        </Button>
      </div>
      <ErrorNotice error={error} />
    </li>
  )
}
