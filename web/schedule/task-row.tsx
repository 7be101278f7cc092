import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Pencil, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Run, Task } from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { messageFor } from '../api/request.ts'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Notice } from '../ui/notice.tsx'
import { RunOutput } from './run-output.tsx'
import { changeTask, deleteTask, isUnderWay, runsQuery, runTask, tasksQuery } from './schedule-api.ts'
import { describeSchedule } from './sentence.ts'
import { TaskForm } from './task-form.tsx'

export function TaskRow({ task }: { task: Task }) {
  const client = useQueryClient()
  const { agentId } = task
  const [isChanging, setChanging] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [shownId, setShownId] = useState<string | null>(null)
  const runs = useQuery(runsQuery(task.id))
  const switching = useMutation({
    mutationFn: () => changeTask({ taskId: task.id, enabled: !task.enabled }),
    onSettled: () => client.invalidateQueries({ queryKey: tasksQuery(agentId).queryKey }),
  })
  const starting = useMutation({
    mutationFn: () => runTask(task.id),
    onSuccess: ({ id }) => setShownId(id),
    onSettled: () => client.invalidateQueries({ queryKey: runsQuery(task.id).queryKey }),
  })
  const shown = runs.data?.find(({ id }) => id === shownId)
  const problem = switching.error ?? starting.error
  if (isChanging) {
    return (
      <li className="p-4 sm:p-6">
        <TaskForm agentId={agentId} task={task} onDone={() => setChanging(false)} />
      </li>
    )
  }
  return (
    <li className="grid grid-cols-1 gap-3 p-4 sm:px-6">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="grid min-w-48 flex-1 gap-0.5">
          <h3 className="flex flex-wrap items-center gap-2 font-medium">
            <span className="break-words">{task.name}</span>
            {!task.enabled && <Badge>Disabled</Badge>}
          </h3>
          <p className="text-sm text-muted">
            Runs {describeSchedule(task.cronSchedule)} ({task.timezone})
            {task.nextRun && (
              <>
                , next <Moment at={task.nextRun} as="minute" />
              </>
            )}
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-1.5">
          <Button
            isPending={starting.isPending}
            disabled={runs.data?.some(isUnderWay)}
            onClick={() => starting.mutate()}
          >
            {!starting.isPending && <Play aria-hidden className="size-3.5" />}
            Run now
          </Button>
          <Button isPending={switching.isPending} onClick={() => switching.mutate()}>
            {task.enabled ? 'Disable' : 'Enable'}
          </Button>
          <IconButton label={`Edit ${task.name}`} onClick={() => setChanging(true)}>
            <Pencil aria-hidden className="size-4" />
          </IconButton>
          <IconButton label={`Delete ${task.name}`} onClick={() => setAsking(true)}>
            <Trash2 aria-hidden className="size-4" />
          </IconButton>
        </div>
      </div>
      <p className="line-clamp-2 text-sm break-words">{task.prompt}</p>
      {problem && <Notice tone="problem">{messageFor(problem)}</Notice>}
      {runs.error && !runs.data && <LoadProblem what="runs" error={runs.error} onRetry={runs.refetch} />}
      {runs.data && runs.data.length > 0 && (
        <RunSquares name={task.name} runs={runs.data} shownId={shownId} onShow={setShownId} />
      )}
      {shown && <RunOutput key={shown.id} agentId={agentId} run={shown} />}
      {isAsking && <DeleteQuestion task={task} onClose={() => setAsking(false)} />}
    </li>
  )
}

function DeleteQuestion({ task, onClose }: { task: Task; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteTask(task.id),
    onSettled: () => client.invalidateQueries({ queryKey: tasksQuery(task.agentId).queryKey }),
  })
  return (
    <AskDialog
      title={`Delete ${task.name}?`}
      lead="The task no longer runs and its run history is deleted. Messages stay in the conversation."
      verb="Delete task"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}

const looks: Record<Run['status'], { className: string; word: string }> = {
  queued: { className: 'border-2 border-edge', word: 'waits' },
  running: { className: 'border-2 border-accent animate-breathe', word: 'running' },
  succeeded: { className: 'bg-accent', word: 'succeeded' },
  failed: { className: 'bg-bad', word: 'failed' },
  skipped: { className: 'border-2 border-dashed border-edge', word: 'skipped' },
}
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })

type RunSquaresProps = {
  name: string
  runs: readonly Run[]
  shownId: string | null
  onShow: (id: string | null) => void
}

/** One square per run, the newest last; pressing one shows its result. */
function RunSquares({ name, runs, shownId, onShow }: RunSquaresProps) {
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

function RunSquare({ run, isShown, onPress }: { run: Run; isShown: boolean; onPress: () => void }) {
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
