import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { TaskRun } from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { runningTurnsQuery } from '../chat/chat-api.ts'
import { openShownTurn, type Turn } from '../chat/shown-turn.ts'
import { ErrorNotice, Skeleton } from '../ui/notice.tsx'
import { findReply, isTaskRunUnderWay } from './schedule-api.ts'

const looks: Record<TaskRun['status'], { className: string; word: string }> = {
  queued: { className: 'border-2 border-edge', word: 'waits' },
  running: { className: 'border-2 border-accent animate-breathe', word: 'running' },
  succeeded: { className: 'bg-accent', word: 'succeeded' },
  failed: { className: 'bg-bad', word: 'failed' },
  skipped: { className: 'border-2 border-dashed border-edge', word: 'skipped' },
}
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })

type RunSquaresProps = {
  name: string
  runs: readonly TaskRun[]
  shownId: string | null
  onShow: (id: string | null) => void
}

/** One square per run, the newest last; pressing one shows its result. */
export function RunSquares({ name, runs, shownId, onShow }: RunSquaresProps) {
  const latest = runs.slice(0, 40).toReversed()
  return (
    <ul aria-label={`Runs of ${name}`} className="flex flex-wrap gap-1">
      {latest.map((run) => (
        <li key={run.id}>
          <RunSquare
            run={run}
            isShown={run.id === shownId}
            onPress={() => onShow(run.id === shownId ? null : run.id)}
          />
        </li>
      ))}
    </ul>
  )
}

function RunSquare({ run, isShown, onPress }: { run: TaskRun; isShown: boolean; onPress: () => void }) {
  const label = `${moment.format(new Date(run.dueAt))}: ${looks[run.status].word}`
  return (
    <button
      type="button"
      aria-label={label}
      aria-pressed={isShown}
      title={label}
      onClick={onPress}
      className="grid size-6 place-items-center rounded aria-pressed:bg-sunken aria-pressed:outline-1 aria-pressed:outline-edge"
    >
      <span aria-hidden className={`size-4 rounded-xs ${looks[run.status].className}`} />
    </button>
  )
}

const words: Record<TaskRun['status'], string> = {
  queued: 'Queued…',
  running: 'Running…',
  succeeded: 'Done',
  failed: 'Failed',
  skipped: 'Skipped: the previous run was still running',
}

/** Streams a running reply, and reads a finished one from the conversation. */
export function RunOutput({ agentId, run }: { agentId: string; run: TaskRun }) {
  const turn = useRunningTurn(agentId, run)
  const isOver = !isTaskRunUnderWay(run)
  const reply = useQuery({
    queryKey: ['task-reply', run.id],
    queryFn: ({ signal }) => findReply(agentId, run.messageId ?? '', signal),
    enabled: isOver && run.messageId !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const text = isOver ? (reply.data ?? null) : turn?.reply
  return (
    <div className="grid gap-2 rounded-lg bg-sunken px-4 py-3 text-sm">
      <p role="status" className="text-muted">
        {words[run.status]}
        {run.durationMs !== null && ` in ${(run.durationMs / 1000).toFixed(1)} s`}
        {turn && !isOver && turn.toolCalls.length > 0 && `, ${turn.toolCalls.length} tools used`}
      </p>
      {run.error && <p className="text-bad break-words">{run.error}</p>}
      <ErrorNotice title="Could not load the reply" error={reply.error} />
      {isOver && reply.isPending && run.messageId !== null && <Skeleton className="h-5 w-3/5" />}
      {text && <p className="max-h-80 overflow-y-auto whitespace-pre-wrap wrap-anywhere">{text}</p>}
      {isOver && run.messageId === null && !run.error && (
        <p className="text-muted">No message was sent to the agent.</p>
      )}
      {isOver && reply.data === null && run.messageId !== null && !run.error && (
        <p className="text-muted">The reply is further back in the conversation.</p>
      )}
    </div>
  )
}

function useRunningTurn(agentId: string, run: TaskRun): Turn | null {
  const [turn, setTurn] = useState<Turn | null>(null)
  const { messageId } = run
  const isWanted = messageId !== null && isTaskRunUnderWay(run)
  const running = useQuery({ ...runningTurnsQuery(agentId), enabled: isWanted })
  const found = running.data?.turns.find(({ questionId }) => questionId === messageId)
  useEffect(() => {
    if (isWanted && !found) void refresh(runningTurnsQuery(agentId))
  }, [isWanted, found, agentId])
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows each turn once
  useEffect(() => (found ? openShownTurn(found, null, setTurn, () => undefined).leave : undefined), [found?.id])
  return turn
}
