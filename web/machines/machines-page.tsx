import { useQuery } from '@tanstack/react-query'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { MachineRow } from './machine-row.tsx'
import { machinesQuery } from './machines-api.ts'

/** `/settings/machines`: agents and gateways that run on the owner's own machines. */
export function MachinesPage() {
  return (
    <SettingsFrame title="Machines" lead="Agents on machines of your own, and gateways linked to this platform.">
      <Section title="Your machines" lead="One that is silent for 15 minutes is shown as inactive.">
        <Machines />
      </Section>
      <Section title="Add one" lead="With one of your API keys in a file.">
        <Command says="Run an agent on that machine" line="stead home --platform URL --key-file FILE" />
        <Command
          says="Link a gateway that runs there already, such as OpenClaw’s"
          line="stead link --platform URL --key-file FILE --url http://127.0.0.1:18789 --token-file FILE"
        />
        <p className="text-sm text-muted">URL is the address of this platform’s backend, port 3001 by default.</p>
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

function Command({ says, line }: { says: string; line: string }) {
  return (
    <div className="grid grid-cols-1 gap-1">
      <p className="text-sm">{says}</p>
      <code className="rounded-md bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere">{line}</code>
    </div>
  )
}
