import { useQuery } from '@tanstack/react-query'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { AddMachine } from './add-machine.tsx'
import { MachineRow } from './machine-row.tsx'
import { machinesQuery } from './machines-api.ts'

/** `/settings/machines`: agents and gateways that run on the owner's own machines. */
export function MachinesPage() {
  return (
    <SettingsFrame title="Machines" lead="Agents on machines of your own, and gateways linked to this platform.">
      <Section title="Your machines" lead="One that is silent for 15 minutes is shown as inactive.">
        <Machines />
      </Section>
      <Section title="Add one" lead="One command on the machine, and it is here.">
        <AddMachine />
      </Section>
    </SettingsFrame>
  )
}

function Machines() {
  const query = useQuery(machinesQuery)
  if (query.data?.length === 0) return <p className="text-sm text-muted">You have no machines yet.</p>
  return (
    <Loaded
      query={query}
      what="Your machines"
      placeholder={
        <LoadingShapes what="your machines" className="grid gap-3">
          <Skeleton className="h-10" />
          <Skeleton className="h-10" />
        </LoadingShapes>
      }
    >
      {(machines) => (
        <ul aria-label="Your machines" className="-my-3 divide-y divide-line">
          {machines.map((machine) => (
            <MachineRow key={machine.id} machine={machine} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}
