import { useMutation } from '@tanstack/react-query'
import { Play, RotateCw, Square, Trash2, UploadCloud, X } from 'lucide-react'
import { useState } from 'react'
import type { FleetAgent, FleetChange, FleetChanged } from '../../src/features/monitoring/fleet/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Notice } from '../ui/notice.tsx'
import { changeFleet, fleetKey, setLabels } from './fleet-api.ts'

const gentle = [
  { verb: 'start', label: 'Start', Icon: Play },
  { verb: 'stop', label: 'Stop', Icon: Square },
  { verb: 'restart', label: 'Restart', Icon: RotateCw },
  { verb: 'update', label: 'Update', Icon: UploadCloud },
] as const
const doing: Record<FleetVerb, string> = {
  start: 'Starting',
  stop: 'Stopping',
  restart: 'Restarting',
  update: 'Updating',
  delete: 'Deleting',
}
const past: Record<FleetVerb, string> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  update: 'updated',
  delete: 'deleted',
}

type BulkBarProps = {
  chosen: ReadonlySet<string>
  /** Number of agents that match the filters. */
  total: number
  onChooseAll: () => Promise<void>
  onClear: () => void
}

export function BulkBar({ chosen, total, onChooseAll, onClear }: BulkBarProps) {
  const change = useFleetChange()
  const [isDeleting, setDeleting] = useState(false)
  const order = (verb: FleetVerb) => {
    const ids = [...chosen]
    change.mutate({ verb, ids }, { onSuccess: () => verb === 'delete' && onClear() })
  }
  if (chosen.size === 0 && change.isIdle) return null
  return (
    <section
      aria-label="Selected agents"
      className="sticky bottom-3 z-10 grid gap-2 rounded-xl border border-line bg-surface p-2.5 shadow-lifted"
    >
      <Outcome change={change} />
      {chosen.size > 0 && (
        <div className="flex flex-wrap items-center gap-1.5">
          <p className="min-w-24 flex-1 px-1.5 text-sm font-medium tabular-nums">{chosen.size} selected</p>
          {chosen.size < total && (
            <Button look="ghost" onClick={() => void onChooseAll()}>
              All {total.toLocaleString('en')}
            </Button>
          )}
          {gentle.map(({ verb, label, Icon }) => (
            <Button Icon={Icon} key={verb} isPending={change.isPending} onClick={() => order(verb)}>
              {label}
            </Button>
          ))}
          <Button Icon={Trash2} isPending={change.isPending} onClick={() => setDeleting(true)} className="text-bad!">
            Delete
          </Button>
          <IconButton label="Clear selection" onClick={onClear}>
            <X aria-hidden className="size-4.5" />
          </IconButton>
        </div>
      )}
      {isDeleting && (
        <DeleteChosenDialog
          agents={chosen.size}
          onConfirm={() => {
            setDeleting(false)
            order('delete')
          }}
          onClose={() => setDeleting(false)}
        />
      )}
    </section>
  )
}

function Outcome({ change }: { change: ReturnType<typeof useFleetChange> }) {
  const { variables, data, error, isPending, done, reset } = change
  if (!variables) return null
  const agents = variables.ids.length
  if (isPending) {
    return (
      <p role="status" className="px-1.5 text-sm text-muted tabular-nums">
        {doing[variables.verb]}: {done} of {agents}
        {done < agents && agents > AT_ONCE && '. Keep this tab open until it finishes.'}
      </p>
    )
  }
  const failed = data?.filter((result) => result.error !== null) ?? []
  const isGood = !error && failed.length === 0
  return (
    <Notice
      tone={isGood ? 'good' : 'problem'}
      title={`${(error ? done : agents - failed.length).toLocaleString('en')} of ${agents.toLocaleString('en')} ${past[variables.verb]}`}
    >
      {error && <p>{messageFor(error)}</p>}
      {failed.length > 0 && (
        <ul className="max-h-32 overflow-y-auto">
          {failed.map(({ id, error: reason }) => (
            <li key={id} className="break-words">
              {id}: {reason}
            </li>
          ))}
        </ul>
      )}
      <Button className="justify-self-start" onClick={reset}>
        Close
      </Button>
    </Notice>
  )
}

type DeleteChosenProps = { agents: number; onConfirm: () => void; onClose: () => void }

function DeleteChosenDialog({ agents, onConfirm, onClose }: DeleteChosenProps) {
  const [typed, setTyped] = useState('')
  const [isWrong, setWrong] = useState(false)
  const word = `delete ${agents}`
  return (
    <ConfirmDialog
      title={agents === 1 ? 'Delete the selected agent?' : `Delete ${agents} agents?`}
      lead="Stops the agents and permanently deletes their files and conversations. Cost records are kept."
      verb="Delete"
      onConfirm={() => (typed.trim().toLowerCase() === word ? onConfirm() : setWrong(true))}
      onClose={onClose}
    >
      <TextField
        label={`Type “${word}” to confirm`}
        value={typed}
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => setTyped(event.target.value)}
        error={isWrong ? `Enter “${word}”.` : undefined}
      />
    </ConfirmDialog>
  )
}

/** Small enough to show progress. */
const AT_ONCE = 10

type FleetVerb = FleetChange['verb']
type FleetOrder = { verb: FleetVerb; ids: readonly string[] }

/** Makes the browser ask before closing the tab. */
function keepOpen(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Applies a change to many agents in batches. It continues on other pages of the dashboard. */
function useFleetChange() {
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ verb, ids }: FleetOrder) => {
      const results: FleetChanged['results'] = []
      setDone(0)
      // Closing the tab would leave the remaining batches undone.
      window.addEventListener('beforeunload', keepOpen)
      try {
        for (let from = 0; from < ids.length; from += AT_ONCE) {
          results.push(...(await changeFleet({ verb, agentIds: ids.slice(from, from + AT_ONCE) })).results)
          setDone(results.length)
        }
      } finally {
        window.removeEventListener('beforeunload', keepOpen)
      }
      return results
    },
    onSettled: () => refresh(agentsQuery),
  })
  return { ...mutation, done }
}

export function LabelsDialog({ agent, onClose }: { agent: FleetAgent; onClose: () => void }) {
  const [words, setWords] = useState(agent.labels.join(', '))
  const labels = words
    .split(',')
    .map((label) => label.trim())
    .filter(Boolean)
  return (
    <ConfirmDialog
      title={`Labels of ${agent.name}`}
      lead="Labels to group and filter agents by, such as a customer or a region."
      verb="Save labels"
      look="primary"
      run={async () => {
        await setLabels(agent.id, labels)
        await refresh({ queryKey: fleetKey })
      }}
      onClose={onClose}
    >
      <TextField
        label="Labels"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        placeholder="shop, europe"
        hint="Separated by commas, up to ten."
      />
    </ConfirmDialog>
  )
}
