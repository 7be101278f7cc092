import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { ArrowDown } from 'lucide-react'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { type LineSearch, toLineSearch, toLogFilter } from '../routes/searches.ts'
import { Button } from '../ui/button.tsx'
import { copyText } from '../ui/copy-button.tsx'
import { ErrorNotice, LoadProblem, Notice } from '../ui/notice.tsx'
import { type LogConnection, useDownloadLog, useLiveLog, useOlderLog } from './live-log.ts'
import { LogHistogram } from './log-histogram.tsx'
import { filterRows, type LogFilter, type LogRow, MAX_LINES } from './log-lines.ts'
import { LogTools } from './log-tools.tsx'
import { LogView } from './log-view.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/logs')
const count = new Intl.NumberFormat('en')
const connections: Record<LogConnection, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  interrupted: 'Connection lost, reconnecting…',
  refused: 'Not connected',
}
const everything: LogFilter = { text: '', level: null, range: null }

/** Page `/agents/$agentId/logs`. */
export function LogsPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Logs" isFilling>
      {({ agent }) => <Logs agent={agent} />}
    </AgentFrame>
  )
}

function Logs({ agent }: { agent: WebAgent }) {
  const search = route.useSearch()
  const linked = search.line ?? null
  const { filter, setFilter } = useFilterInAddress(search)
  const [isPaused, setPaused] = useState(false)
  const [isReading, setReading] = useState(false)
  const deferred = useDeferredValue(filter)
  const live = useLiveLog(agent.id, isPaused || isReading)
  const log = useWholeLog(agent.id, live, { linked, isFiltered: deferred !== everything && !isEmpty(deferred) })
  const timed = useMemo(() => filterRows(log.rows, { ...deferred, range: null }), [log.rows, deferred])
  const shown = useMemo(() => filterRows(timed, { ...everything, range: deferred.range }), [timed, deferred.range])
  const download = useDownloadLog(agent.id, agent.name, filter)
  const lines = useUnfolded(linked)
  return (
    <>
      <LogTools filter={filter} onFilter={setFilter} isPaused={isPaused} onPause={setPaused} download={download} />
      <LogHistogram rows={timed} range={deferred.range} onRange={(range) => setFilter({ ...filter, range })} />
      <LogView
        rows={shown}
        search={deferred.text}
        linked={linked}
        unfolded={lines.unfolded}
        isPaused={isPaused}
        isBusy={live.connection === 'connecting' || log.older.isReading}
        onToggle={lines.toggle}
        onLink={lines.link}
        onNearTop={log.older.readOlder}
        onAway={setReading}
        footer={(jumpToEnd, isAway) =>
          (isAway || (isPaused && live.waiting > 0)) && (
            <Button
              Icon={ArrowDown}
              className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-lifted"
              onClick={() => {
                jumpToEnd()
                setPaused(false)
              }}
            >
              {live.waiting > 0 ? `${count.format(live.waiting)} new` : 'Latest'}
            </Button>
          )
        }
      >
        <Remarks log={log} live={live} shown={shown.length} download={download.error} isLinkGone={log.isLinkGone} />
      </LogView>
      <p className="flex items-center justify-between gap-3 border-t border-line px-3 py-1.5 text-xs text-muted sm:px-6">
        <span role="status" className="inline-flex items-center gap-1.5">
          <span
            aria-hidden
            className={`size-1.5 rounded-full ${live.connection === 'live' ? 'bg-accent' : 'border-[1.5px] border-current'}`}
          />
          {lines.notice ?? (isPaused && live.connection === 'live' ? 'Paused' : connections[live.connection])}
        </span>
        <span className="tabular-nums">{describeCount(shown.length, log)}</span>
      </p>
    </>
  )
}

/** Keeps the filter in the URL, so that a reload or a shared link shows the same lines. */
function useFilterInAddress(search: LineSearch) {
  const navigate = useNavigate()
  const [filter, setFilter] = useState(() => toLogFilter(search))
  const change = (next: LogFilter) => {
    setFilter(next)
    void navigate({ to: '.', search: (known: LineSearch) => ({ ...known, ...toLineSearch(next) }), replace: true })
  }
  return { filter, setFilter: change }
}

type WholeLog = {
  rows: readonly LogRow[]
  older: ReturnType<typeof useOlderLog>
  /** The linked line is no longer stored. */
  isLinkGone: boolean
}

/** Joins live lines with the stored lines loaded so far. */
function useWholeLog(
  agentId: string,
  live: ReturnType<typeof useLiveLog>,
  { linked, isFiltered }: { linked: number | null; isFiltered: boolean },
): WholeLog {
  const [start, setStart] = useState<number | null>(null)
  const firstLive = live.rows[0]?.id
  if (start === null && firstLive !== undefined) setStart(firstLive)
  const [isFound, setFound] = useState(linked === null)
  const older = useOlderLog(agentId, {
    before: start,
    isEnabled: start !== null,
    known: live.rows.length,
    wantsAll: isFiltered || !isFound,
  })
  const rows = useMemo(() => [...older.rows, ...live.rows].slice(-MAX_LINES), [older.rows, live.rows])
  if (!isFound && rows.some(({ id }) => id === linked)) setFound(true)
  const isAllRead = start !== null && !older.isReading && (!older.isMore || older.isFull)
  return { rows, older, isLinkGone: !isFound && isAllRead }
}

function useUnfolded(linked: number | null) {
  const navigate = useNavigate()
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set(linked === null ? [] : [linked]))
  const [notice, setNotice] = useState<string | null>(null)
  const toggle = useCallback(
    (id: number) => setUnfolded((known) => new Set(known).symmetricDifference(new Set([id]))),
    [],
  )
  const link = useCallback(
    async (id: number) => {
      await navigate({ to: '.', search: (known: LineSearch) => ({ ...known, line: id }), replace: true })
      setNotice((await copyText(window.location.href)) ? 'Link copied' : 'The link is in the address bar')
    },
    [navigate],
  )
  return { unfolded, toggle, link: (id: number) => void link(id), notice }
}

type RemarksProps = {
  log: WholeLog
  live: ReturnType<typeof useLiveLog>
  shown: number
  download: unknown
  isLinkGone: boolean
}

function Remarks({ log, live, shown, download, isLinkGone }: RemarksProps) {
  const { older } = log
  return (
    <div className="grid gap-2 px-3 font-sans text-sm not-empty:py-2 sm:px-6">
      {live.error !== null && <LoadProblem what="log" error={live.error} onRetry={live.again} />}
      {older.error && <LoadProblem what="older lines" error={older.error} onRetry={older.again} />}
      <ErrorNotice title="Download failed" error={download} />
      {isLinkGone && <Notice tone="warning">The linked line is no longer stored.</Notice>}
      {older.isReading && (
        <p role="status" className="text-muted">
          Reading older lines…
        </p>
      )}
      {older.isFull && older.isMore && (
        <p className="text-muted">
          Showing the newest {count.format(MAX_LINES)} lines. Download the log for older lines.
        </p>
      )}
      {shown === 0 && live.error === null && !older.isReading && (
        <p className="py-4 text-muted">{describeEmptiness(live.connection, log.rows.length)}</p>
      )}
    </div>
  )
}

function describeEmptiness(connection: LogConnection, known: number): string {
  if (known > 0) return 'No log lines match your filters.'
  return connection === 'live' ? 'No log lines yet. New lines appear here.' : 'Connecting to the log…'
}

function describeCount(shown: number, { rows, older }: WholeLog): string {
  const all = `${count.format(rows.length)}${older.isMore ? '+' : ''} ${rows.length === 1 ? 'line' : 'lines'}`
  return shown === rows.length ? all : `${count.format(shown)} of ${all}`
}

function isEmpty({ text, level, range }: LogFilter): boolean {
  return text.trim() === '' && level === null && range === null
}
