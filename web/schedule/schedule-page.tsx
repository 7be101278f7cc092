import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Pencil, Play, Plus, Trash2 } from 'lucide-react'
import { type SyntheticEvent, useState } from 'react'
import type { Task } from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { refresh } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { TextArea, TextField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadingShapes, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import {
  changeTask,
  createTask,
  deleteTask,
  isTaskRunUnderWay,
  runTask,
  taskRunsQuery,
  tasksQuery,
} from './schedule-api.ts'
import { ScheduleField } from './schedule-field.tsx'
import { describeSchedule } from './sentence.ts'
import { RunOutput, RunSquares } from './task-runs.tsx'
import { ownZone } from './zones.ts'

const route = getRouteApi('/signed-in/agents/$agentId/schedule')

/** Page `/agents/$agentId/schedule`. */
export function SchedulePage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Schedule">
      {({ agent }) => <Schedule agentId={agent.id} />}
    </AgentFrame>
  )
}

function Schedule({ agentId }: { agentId: string }) {
  const query = useQuery(tasksQuery(agentId))
  const [isAdding, setAdding] = useState(false)
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      <Panel
        title="Scheduled tasks"
        actions={
          !isAdding && (
            <Button Icon={Plus} look="primary" onClick={() => setAdding(true)}>
              New task
            </Button>
          )
        }
      >
        {isAdding && (
          <div className="border-t border-line p-4 sm:p-6">
            <TaskForm agentId={agentId} task={null} onDone={() => setAdding(false)} />
          </div>
        )}
        <Loaded
          query={query}
          what="tasks"
          problemClassName="px-4 pb-4"
          placeholder={
            <LoadingShapes what="tasks" className="grid gap-3 px-4 pb-4">
              <Skeleton className="h-16" />
              <Skeleton className="h-16" />
            </LoadingShapes>
          }
        >
          {(tasks) =>
            tasks.length > 0 ? (
              <ul className="divide-y divide-line border-t border-line">
                {tasks.map((task) => (
                  <TaskLine key={task.id} task={task} />
                ))}
              </ul>
            ) : (
              <p className="border-t border-line px-4 py-6 text-muted sm:px-6">
                No scheduled tasks yet. A task sends the agent a message on a schedule.
              </p>
            )
          }
        </Loaded>
      </Panel>
    </div>
  )
}

type TaskFormProps = { agentId: string; task: Task | null; onDone: () => void }

export function TaskForm({ agentId, task, onDone }: TaskFormProps) {
  const [name, setName] = useState(task?.name ?? '')
  const [prompt, setPrompt] = useState(task?.prompt ?? '')
  const [when, setWhen] = useState({
    cron: task?.cronSchedule ?? '0 9 * * *',
    timezone: task?.timezone ?? ownZone(),
  })
  const [isChecked, setChecked] = useState(false)
  const saving = useMutation({
    mutationFn: () => {
      const body = { name, prompt, cronSchedule: when.cron.trim(), timezone: when.timezone }
      return task ? changeTask({ taskId: task.id, ...body }) : createTask({ agentId, ...body })
    },
    onSuccess: onDone,
    onSettled: () => refresh(tasksQuery(agentId)),
  })
  const missing = 'This field is required.'
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    setChecked(true)
    if (name.trim() && prompt.trim() && when.cron.trim() && !saving.isPending) saving.mutate()
  }
  return (
    <form aria-label={task ? `Edit ${task.name}` : 'New task'} onSubmit={submit} className="grid grid-cols-1 gap-4">
      <TextField
        label="Name"
        value={name}
        maxLength={100}
        error={isChecked && !name.trim() ? missing : undefined}
        onChange={({ target }) => setName(target.value)}
      />
      <TextArea
        label="Message to the agent"
        value={prompt}
        maxLength={20_000}
        error={isChecked && !prompt.trim() ? missing : undefined}
        onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
      />
      <ScheduleField when={when} error={isChecked && !when.cron.trim() ? missing : undefined} onChange={setWhen} />
      <ErrorNotice title="Could not save the task" error={saving.error} />
      <div className="flex gap-2">
        <Button type="submit" look="primary" isPending={saving.isPending}>
          {task ? 'Save task' : 'Create task'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  )
}

export function TaskLine({ task }: { task: Task }) {
  const { agentId } = task
  const [isChanging, setChanging] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [shownId, setShownId] = useState<string | null>(null)
  const runs = useQuery(taskRunsQuery(task.id))
  const switching = useMutation({
    mutationFn: () => changeTask({ taskId: task.id, enabled: !task.enabled }),
    onSettled: () => refresh(tasksQuery(agentId)),
  })
  const starting = useMutation({
    mutationFn: () => runTask(task.id),
    onSuccess: ({ id }) => setShownId(id),
    onSettled: () => refresh(taskRunsQuery(task.id)),
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
            Icon={Play}
            isPending={starting.isPending}
            disabled={runs.data?.some(isTaskRunUnderWay)}
            onClick={() => starting.mutate()}
          >
            Run now
          </Button>
          <Button isPending={switching.isPending} onClick={() => switching.mutate()}>
            {task.enabled ? 'Disable' : 'Enable'}
          </Button>
          <IconButton Icon={Pencil} label={`Edit ${task.name}`} onClick={() => setChanging(true)} />
          <IconButton Icon={Trash2} label={`Delete ${task.name}`} onClick={() => setAsking(true)} />
        </div>
      </div>
      <p className="line-clamp-2 text-sm break-words">{task.prompt}</p>
      <ErrorNotice error={problem} />
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
  return (
    <ConfirmDialog
      title={`Delete ${task.name}?`}
      lead="The task no longer runs and its run history is deleted. Messages stay in the conversation."
      verb="Delete task"
      run={async () => {
        await deleteTask(task.id)
        await refresh(tasksQuery(task.agentId))
      }}
      onClose={onClose}
    />
  )
}
