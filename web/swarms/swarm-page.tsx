import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type SyntheticEvent, useState } from 'react'
import type { RunLine, Swarm } from '../../src/features/conversations/swarms/schemas.ts'
import { Pages } from '../admin/paging.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { TextArea } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { Empty, Section } from '../ui/panel.tsx'
import { LoadedSwarm, RunStateBadge } from './loaded-swarm.tsx'
import { SwarmForm } from './swarm-form.tsx'
import { changeSwarm, deleteSwarm, startRun, swarmRunsQuery } from './team-api.ts'

const route = getRouteApi('/signed-in/team/swarms/$swarmId')

/** Page `/team/swarms/$swarmId`. */
export function SwarmPage() {
  const { swarmId } = route.useParams()
  return (
    <LoadedSwarm swarmId={swarmId}>
      {(swarm) => (
        <>
          <NewRun swarm={swarm} />
          <Runs swarmId={swarm.id} />
          <Members swarm={swarm} />
          <DangerSection swarm={swarm} />
        </>
      )}
    </LoadedSwarm>
  )
}

function NewRun({ swarm }: { swarm: Swarm }) {
  const navigate = useNavigate()
  const [task, setTask] = useState('')
  const [isChecked, setChecked] = useState(false)
  const start = useMutation({
    mutationFn: () => startRun(swarm.id, task.trim()),
    onSuccess: ({ id }) =>
      navigate({ to: '/team/swarms/$swarmId/runs/$runId', params: { swarmId: swarm.id, runId: id } }),
  })
  const obstacle = obstacleOf(swarm)
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    setChecked(true)
    if (task.trim() && !obstacle && !start.isPending) start.mutate()
  }
  return (
    <Section title="Run" lead="All members receive this task at the same time.">
      <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-3">
        <TextArea
          label="Task"
          rows={4}
          look="prose"
          maxLength={20_000}
          value={task}
          error={isChecked && !task.trim() ? 'Enter a task.' : undefined}
          onChange={({ currentTarget }) => setTask(currentTarget.value)}
        />
        <ErrorNotice title="Could not start the run" error={start.error} />
        {obstacle && <Notice tone="note">{obstacle}</Notice>}
        <Button
          type="submit"
          look="primary"
          className="justify-self-start"
          disabled={obstacle !== null}
          isPending={start.isPending}
        >
          Run task
        </Button>
      </form>
    </Section>
  )
}

function obstacleOf(swarm: Swarm): string | null {
  if (!swarm.enabled) return 'This swarm is disabled. Enable it below to run tasks.'
  return swarm.agents.length === 0 ? 'This swarm has no members yet. Add agents below.' : null
}

function Runs({ swarmId }: { swarmId: string }) {
  const query = useInfiniteQuery(swarmRunsQuery(swarmId))
  return (
    <section className="grid grid-cols-1 gap-3">
      <h2 className="font-semibold">Runs</h2>
      <Pages
        query={query}
        what="runs"
        itemsOf={({ runs }) => runs}
        empty={<Empty title="No runs yet">Answers of each run appear here. The newest 200 runs are kept.</Empty>}
      >
        {(run) => <RunRow key={run.id} run={run} />}
      </Pages>
    </section>
  )
}

function RunRow({ run: { id, swarmId, task, state, startedAt } }: { run: RunLine }) {
  return (
    <li className="relative flex flex-wrap items-center gap-x-4 gap-y-1 px-3 py-3 hover:bg-sunken sm:px-4">
      <Link
        to="/team/swarms/$swarmId/runs/$runId"
        params={{ swarmId, runId: id }}
        className="line-clamp-2 min-w-0 flex-1 basis-52 break-words after:absolute after:inset-0"
      >
        {task}
      </Link>
      <span className="flex items-center gap-3 text-sm text-muted">
        <RunStateBadge state={state} />
        <Moment at={startedAt} as="minute" />
      </span>
    </li>
  )
}

function Members({ swarm }: { swarm: Swarm }) {
  return (
    <Section title="Members" lead="Changes do not affect running tasks.">
      <SwarmForm swarm={swarm} save={(wish) => changeSwarm(swarm.id, wish)} />
    </Section>
  )
}

function DangerSection({ swarm }: { swarm: Swarm }) {
  const [isAsking, setAsking] = useState(false)
  const turn = useMutation({ mutationFn: () => changeSwarm(swarm.id, { enabled: !swarm.enabled }) })
  return (
    <Section
      title="Disable or delete"
      badge={!swarm.enabled && <Badge tone="warning">Disabled</Badge>}
      lead="A disabled swarm cannot run tasks, including through agents and API keys."
      tone="danger"
    >
      <ErrorNotice error={turn.error} />
      <div className="flex flex-wrap gap-2">
        <Button isPending={turn.isPending} onClick={() => turn.mutate()}>
          {swarm.enabled ? 'Disable' : 'Enable'}
        </Button>
        <Button look="danger" onClick={() => setAsking(true)}>
          Delete swarm
        </Button>
      </div>
      {isAsking && <DeleteDialog swarm={swarm} onClose={() => setAsking(false)} />}
    </Section>
  )
}

function DeleteDialog({ swarm: { id, name }, onClose }: { swarm: Swarm; onClose: () => void }) {
  const navigate = useNavigate()
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      lead="Deletes its runs and their answers. Agents and their conversations are kept."
      verb="Delete"
      run={async () => {
        await deleteSwarm(id)
        await navigate({ to: '/team/swarms' })
      }}
      onClose={onClose}
    />
  )
}
