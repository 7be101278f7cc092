import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { CircleCheck, LoaderCircle, Plus } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import { BackendAddress, type Installation, Installations } from '../../src/features/agents/installations/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'
import { createKey } from '../keys/keys-api.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'

/** Page `/settings/machines`. */
export function MachinesPage() {
  return (
    <SettingsFrame title="Machines" lead="Agents on your own machines, and gateways linked to this platform.">
      <Section title="Machines" lead="Machines become inactive after 15 minutes without contact.">
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
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      lead="Removes the machine from this list. A running machine registers again; to block it, delete its API key."
      verb="Remove machine"
      run={async () => {
        await forgetMachine(id)
        queryClient.setQueryData(machinesQuery.queryKey, (machines) => machines?.filter((machine) => machine.id !== id))
      }}
      onClose={onClose}
    />
  )
}

const LOOK_MS = 3_000

export function AddMachine() {
  const address = useQuery(backendQuery)
  const known = useQuery(machinesQuery).data
  const making = useMutation({
    mutationFn: async () => {
      const { key } = await createKey({
        name: `Machine of ${new Date().toISOString().slice(0, 10)}`,
        scopes: ['agents', 'models'],
      })
      return { key, before: new Set(known?.map(({ id }) => id)) }
    },
  })
  return (
    <Loaded query={address} what="the server address" placeholder={<Skeleton className="h-10" />}>
      {(url) =>
        making.data ? (
          <Commands url={url} secret={making.data.key} before={making.data.before} />
        ) : (
          <>
            <p className="text-sm text-muted">
              Creates an API key with full access to agents and models, and shows the command. Delete the key under API
              keys when you remove the machine.
            </p>
            <ErrorNotice title="Could not create the key" error={making.error} />
            <Button
              Icon={Plus}
              className="justify-self-start"
              isPending={making.isPending}
              disabled={!known}
              onClick={() => making.mutate()}
            >
              Add machine
            </Button>
          </>
        )
      }
    </Loaded>
  )
}

type CommandsProps = { url: string; secret: string; before: ReadonlySet<string> }

function Commands({ url, secret, before }: CommandsProps) {
  const [kind, setKind] = useState<'home' | 'link'>('home')
  const keyFile = `(umask 077 && printf %s '${secret}' > stead.key)`
  const verb =
    kind === 'home'
      ? `stead home --platform ${url} --key-file stead.key`
      : `stead link --platform ${url} --key-file stead.key --url http://127.0.0.1:18789 --token-file FILE`
  const line = `${keyFile} && ${verb}`
  return (
    <>
      <fieldset className="flex flex-wrap gap-4 text-sm">
        <legend className="sr-only">Type</legend>
        <label className="flex items-center gap-2">
          <input
            type="radio"
            name="kind"
            checked={kind === 'home'}
            onChange={() => setKind('home')}
            className="accent-accent"
          />
          New agent
        </label>
        <label className="flex items-center gap-2">
          <input
            type="radio"
            name="kind"
            checked={kind === 'link'}
            onChange={() => setKind('link')}
            className="accent-accent"
          />
          Existing gateway
        </label>
      </fieldset>
      <code className="rounded-md bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all">{line}</code>
      <div className="flex flex-wrap items-center gap-3">
        <CopyButton text={line} what="command" />
        <Waiting before={before} />
      </div>
      <p className="text-sm text-muted">
        Run this command on the machine. The key is not shown again. The machine must be able to reach {url}; behind a
        proxy, use the URL that leads to this port.
        {kind === 'link' && ' FILE contains the gateway token.'}
      </p>
    </>
  )
}

/** Waits until a machine appears that is not in `before`. */
function Waiting({ before }: { before: ReadonlySet<string> }) {
  const { data } = useQuery({ ...machinesQuery, refetchInterval: LOOK_MS })
  const come = data?.find(({ id }) => !before.has(id))
  return (
    <p role="status" className={`flex items-center gap-2 text-sm ${come ? 'font-medium text-accent' : 'text-muted'}`}>
      {come ? (
        <CircleCheck aria-hidden className="size-4" />
      ) : (
        <LoaderCircle aria-hidden className="size-4 animate-spin" />
      )}
      {come ? `${come.name || 'Machine'} connected` : 'Waiting for the machine to connect…'}
    </p>
  )
}

/** Polls, because machines come and go. */
export const machinesQuery = queryOptions({
  queryKey: ['machines'],
  queryFn: async ({ signal }) =>
    (await request(Installations, api.GET('/api/installations', { signal }))).installations,
  refetchInterval: 30_000,
})

/** A machine that still runs reappears when it registers again. */
export function forgetMachine(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/installations/{id}', inPath({ id })))
}

/** The backend URL: the host of this page with the backend's port. */
export const backendQuery = queryOptions({
  queryKey: ['backend-address'],
  queryFn: async ({ signal }) => {
    const { port } = await request(BackendAddress, api.GET('/api/installations/address', { signal }))
    return `http://${window.location.hostname}:${port}`
  },
  staleTime: Number.POSITIVE_INFINITY,
})
