import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Installation } from '../../src/features/agents/installations/schemas.ts'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { forgetMachine, machinesQuery } from './machines-api.ts'

const kinds = { home: 'Self-hosted agent', link: 'Linked gateway', cloud: 'Cloud' } as const

export function MachineRow({ machine }: { machine: Installation }) {
  const [isAsking, setAsking] = useState(false)
  const name = machine.name || 'Unnamed machine'
  return (
    <li className="flex items-center gap-3 py-3">
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="min-w-0 font-medium break-words">{name}</span>
          <Badge>{kinds[machine.mode]}</Badge>
          {machine.status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="warning">Inactive</Badge>}
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          {machine.gatewayUrl && <span className="break-all">{machine.gatewayUrl}</span>}
          <span>
            Last seen <Moment at={machine.lastSeen} as="distance" />
          </span>
          <span>
            Registered <Moment at={machine.registeredAt} />
          </span>
        </p>
      </div>
      <Button aria-label={`Remove ${name}`} onClick={() => setAsking(true)}>
        Remove
      </Button>
      {isAsking && <ForgetDialog id={machine.id} name={name} onClose={() => setAsking(false)} />}
    </li>
  )
}

function ForgetDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => forgetMachine(id),
    // Deleting removes the row and this dialog with it.
    onSuccess: () =>
      client.setQueryData(machinesQuery.queryKey, (machines) => machines?.filter((machine) => machine.id !== id)),
  })
  return (
    <AskDialog
      title={`Remove ${name}?`}
      lead="Removes the machine from this list. A running machine registers again; to block it, delete its API key."
      verb="Remove machine"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}
