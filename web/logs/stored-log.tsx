import { useQuery } from '@tanstack/react-query'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { LogEntry } from '../../src/features/agents/logs/schemas.ts'
import { Button } from '../ui/button.tsx'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { LogBox } from './log-box.tsx'
import { historyQuery, type LogPage } from './logs-api.ts'

const moment = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const SETTLE_MS = 250
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long' })

/** Stored lines, a page at a time, with the time at which each was written; those with `text` in them when there is one. */
export function StoredLog({ agentId, text: typed }: { agentId: string; text: string }) {
  const text = useSettled(typed)
  const [page, setPage] = useState<LogPage>({ text, before: null })
  if (page.text !== text) setPage({ text, before: null })
  const { before } = page
  const setBefore = (id: number | null) => setPage({ text, before: id })
  const { data, error, refetch, isPlaceholderData } = useQuery(historyQuery(agentId, { text, before }))
  const boxRef = useRef<HTMLDivElement>(null)
  const entries = data?.entries
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page begins at its newest line
  useEffect(() => {
    boxRef.current?.scrollTo({ top: boxRef.current.scrollHeight })
  }, [entries])
  const nextBefore = data?.nextBefore ?? null
  return (
    <>
      <LogBox label="Stored log" boxRef={boxRef} isBusy={!data || isPlaceholderData}>
        {error ? (
          <div className="p-4 font-sans">
            <LoadProblem what="The stored lines" error={error} onRetry={refetch} />
          </div>
        ) : entries ? (
          entries.length === 0 ? (
            <p className="px-3 py-6 font-sans text-muted sm:px-6">
              {text ? 'No stored line has this text.' : 'Nothing is stored yet.'}
            </p>
          ) : (
            entries.map((entry) => <Entry key={entry.id} entry={entry} />)
          )
        ) : (
          <Loading />
        )}
      </LogBox>
      <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2 sm:px-6">
        <Button
          disabled={nextBefore === null}
          isPending={isPlaceholderData}
          onClick={() => nextBefore !== null && setBefore(nextBefore)}
        >
          {!isPlaceholderData && <ArrowUp aria-hidden className="size-4" />}
          Older
        </Button>
        <Button
          onClick={() => {
            setBefore(null)
            void refetch()
          }}
        >
          <ArrowDown aria-hidden className="size-4" />
          Newest
        </Button>
        <span role="status" className="ml-auto text-xs text-muted tabular-nums">
          {entries && describe(entries, nextBefore !== null)}
        </span>
      </div>
    </>
  )
}

/** `value` once it has not changed for a moment: nobody wants an answer to half a word. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

const inks = { stdout: '', stderr: 'text-warn', platform: 'font-sans text-muted' }

function Entry({ entry }: { entry: LogEntry }) {
  const at = new Date(entry.at)
  return (
    <p className="grid grid-cols-1 px-3 sm:grid-cols-[8.5rem_minmax(0,1fr)] sm:gap-x-3 sm:px-6">
      <time dateTime={entry.at} title={exact.format(at)} className="text-muted tabular-nums select-none max-sm:text-xs">
        {moment.format(at)}
      </time>
      <span className={`whitespace-pre-wrap wrap-anywhere ${inks[entry.stream]}`}>
        {entry.stream === 'stderr' && <span className="sr-only">Error output: </span>}
        {entry.text}
      </span>
    </p>
  )
}

function Loading() {
  return (
    <div className="grid gap-2 px-3 py-2 sm:px-6">
      <p role="status" className="sr-only">
        Loading stored lines
      </p>
      <Skeleton className="h-4 w-3/5" />
      <Skeleton className="h-4 w-4/5" />
      <Skeleton className="h-4 w-2/5" />
    </div>
  )
}

function describe(entries: LogEntry[], isMore: boolean): string {
  return `${entries.length} ${entries.length === 1 ? 'line' : 'lines'}${isMore ? ', older ones above' : ''}`
}
