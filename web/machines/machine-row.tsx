import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Installation } from '../../src/features/agents/installations/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { forgetMachine, machinesQuery } from './machines-api.ts'

const kinds = { home: 'Self-hosted agent', link: 'Linked gateway', cloud: 'Cloud' } as const

export function MachineRow({ machine }: { machine: Installation }) {
  const [isAsking, setAsking] = useState(false)
  const name = machine.name || 'Unnamed machine'
  const { agentId } = machine
  return (
    <li className="flex flex-wrap items-center gap-3 py-3">
      <div className="grid min-w-0 flex-1 basis-64 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="min-w-0 font-medium break-words">{name}</span>
          <Badge>{kinds[machine.mode]}</Badge>
          <MachineState machine={machine} />
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          {machine.gatewayUrl && <span className="break-all">{machine.gatewayUrl}</span>}
          <MachineVersion machine={machine} />
          <span>
            Last seen <Moment at={machine.lastSeen} as="distance" />
          </span>
          <span>
            Registered <Moment at={machine.registeredAt} />
          </span>
        </p>
        {machine.versionProblem && <p className="text-sm text-bad">{machine.versionProblem}</p>}
      </div>
      {agentId !== null && (
        <Link to="/agents/$agentId" params={{ agentId }} className="text-sm font-medium text-accent hover:underline">
          Open agent
        </Link>
      )}
      <Button aria-label={`Remove ${name}`} onClick={() => setAsking(true)}>
        Remove
      </Button>
      {isAsking && <ForgetDialog machine={machine} name={name} onClose={() => setAsking(false)} />}
    </li>
  )
}

function MachineState({ machine: { tunnel, status, versionProblem } }: { machine: Installation }) {
  if (versionProblem) return <Badge tone="problem">Update required</Badge>
  if (tunnel.state === 'none') {
    return status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="warning">Inactive</Badge>
  }
  if (tunnel.state === 'online') {
    return <Badge tone="good">{tunnel.latencyMs === null ? 'Online' : `Online · ${tunnel.latencyMs} ms`}</Badge>
  }
  return (
    <Badge tone="warning">
      Offline
      {tunnel.since && (
        <>
          {' since '}
          <Moment at={tunnel.since} as="minute" />
        </>
      )}
    </Badge>
  )
}

function MachineVersion({ machine: { version, platformVersion } }: { machine: Installation }) {
  if (version === null) return null
  return (
    <span>{version === platformVersion ? `Version ${version}` : `Version ${version}, server ${platformVersion}`}</span>
  )
}

type ForgetProps = { machine: Installation; name: string; onClose: () => void }

function ForgetDialog({ machine: { id, agentId }, name, onClose }: ForgetProps) {
  const lead =
    agentId === null
      ? 'Removes the machine from this list. A running machine registers again; to block it, delete its API key.'
      : 'Disconnects the machine and deletes its agent and conversations here. Files on the machine are kept.'
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      lead={lead}
      verb="Remove machine"
      run={async () => {
        await forgetMachine(id)
        queryClient.setQueryData(machinesQuery.queryKey, (machines) => machines?.filter((machine) => machine.id !== id))
      }}
      onClose={onClose}
    />
  )
}
