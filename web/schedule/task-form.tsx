import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type SyntheticEvent, useState } from 'react'
import type { Task } from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { changeTask, createTask, tasksQuery } from './schedule-api.ts'
import { ScheduleField } from './schedule-field.tsx'
import { ownZone } from './zones.ts'

type TaskFormProps = { agentId: string; task: Task | null; onDone: () => void }

export function TaskForm({ agentId, task, onDone }: TaskFormProps) {
  const client = useQueryClient()
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
    onSettled: () => client.invalidateQueries({ queryKey: tasksQuery(agentId).queryKey }),
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
      {saving.error && (
        <Notice tone="problem" title="Could not save the task">
          {messageFor(saving.error)}
        </Notice>
      )}
      <div className="flex gap-2">
        <Button type="submit" look="primary" isPending={saving.isPending}>
          {task ? 'Save task' : 'Create task'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  )
}
