import { useQuery } from '@tanstack/react-query'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { AddMachine } from './add-machine.tsx'
import { MachineRow } from './machine-row.tsx'
import { machinesQuery } from './machines-api.ts'

/** Page `/settings/machines`. */
export function MachinesPage() {
  return (
    <SettingsFrame title="Machines" lead="Agents on your own machines, and gateways linked to this platform.">
      <Section title="Machines" lead="You are notified when a machine has been offline for five minutes.">
        <Machines />
      </Section>
      <Section title="Add a machine" lead="Run one command on the machine to connect it.">
        <AddMachine />
      </Section>
    </SettingsFrame>
  )
}

function Machines() {
  const query = useQuery(machinesQuery)
  if (query.data?.length === 0) return <p className="text-sm text-muted">No machines yet</p>
  return (
    <Loaded
      query={query}
      what="machines"
      placeholder={
        <LoadingShapes what="machines" className="grid gap-3">
          <Skeleton className="h-10" />
          <Skeleton className="h-10" />
        </LoadingShapes>
      }
    >
      {(machines) => (
        <ul aria-label="Machines" className="-my-3 divide-y divide-line">
          {machines.map((machine) => (
            <MachineRow key={machine.id} machine={machine} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}
