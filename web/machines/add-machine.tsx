import { useMutation, useQuery } from '@tanstack/react-query'
import { CircleCheck, LoaderCircle, Plus } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Installation, PairingCode } from '../../src/features/agents/installations/schemas.ts'
import { QrPicture } from '../settings/qr-picture.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../ui/notice.tsx'
import { backendQuery, createPairingCode, machinesQuery } from './machines-api.ts'

const LOOK_MS = 3_000
const SECOND_MS = 1000

/** States of the known machines when the code was created. */
type Before = ReadonlyMap<string, Installation['tunnel']['state']>

/** Creates a pairing code, shows the command, and waits for the machine. */
export function AddMachine() {
  const address = useQuery(backendQuery)
  const known = useQuery(machinesQuery).data
  const making = useMutation({
    mutationFn: async () => {
      const before: Before = new Map(known?.map(({ id, tunnel }) => [id, tunnel.state]))
      return { pairing: await createPairingCode(), before }
    },
  })
  const create = () => making.mutate()
  return (
    <Loaded query={address} what="the server address" placeholder={<Skeleton className="h-10" />}>
      {(url) =>
        making.data ? (
          <Pairing
            key={making.data.pairing.code}
            url={url}
            {...making.data}
            create={create}
            isPending={making.isPending}
          />
        ) : (
          <>
            <p className="text-sm text-muted">
              Creates a code that one machine can use once. The machine connects to this server by itself, so it needs
              no open port and works behind a router.
            </p>
            <ErrorNotice title="Could not create the code" error={making.error} />
            <Button
              Icon={Plus}
              className="justify-self-start"
              isPending={making.isPending}
              disabled={!known}
              onClick={create}
            >
              Add machine
            </Button>
          </>
        )
      }
    </Loaded>
  )
}

type PairingProps = { url: string; pairing: PairingCode; before: Before; create: () => void; isPending: boolean }

function Pairing({ url, pairing: { code, expiresAt }, before, create, isPending }: PairingProps) {
  const [kind, setKind] = useState<'home' | 'link'>('home')
  const secondsLeft = useSecondsUntil(expiresAt)
  const come = useConnected(before)
  if (secondsLeft === 0 && !come) {
    return (
      <>
        <p role="status" className="text-sm text-muted">
          The code {code} has expired.
        </p>
        <Button Icon={Plus} className="justify-self-start" isPending={isPending} onClick={create}>
          Create new code
        </Button>
      </>
    )
  }
  const options = kind === 'home' ? '' : ' --url http://127.0.0.1:18789 --token-file FILE'
  const line = `stead ${kind} --platform ${url} --code ${code}${options}`
  return (
    <>
      <KindChoice kind={kind} setKind={setKind} />
      <div className="flex flex-wrap items-start gap-5">
        <QrPicture text={line} label="QR code of the command" />
        <div className="grid min-w-0 flex-1 basis-64 grid-cols-1 gap-3">
          <p className="font-mono text-2xl tracking-widest" data-testid="pairing-code">
            {code}
          </p>
          <code className="rounded-md bg-sunken px-3 py-2 font-mono text-[0.8125rem] wrap-anywhere select-all">
            {line}
          </code>
          <div className="flex flex-wrap items-center gap-3">
            <CopyButton text={line} what="command" />
            <Waiting come={come} />
          </div>
        </div>
      </div>
      <p className="text-sm text-muted">
        Run this command on the machine. The code works once and expires in {formatLeft(secondsLeft)}. The machine must
        be able to reach {url}; behind a proxy, use the URL that leads to this port.
        {kind === 'link' && ' FILE contains the gateway token.'}
      </p>
    </>
  )
}

function KindChoice({ kind, setKind }: { kind: 'home' | 'link'; setKind: (kind: 'home' | 'link') => void }) {
  return (
    <fieldset className="flex flex-wrap gap-4 text-sm">
      <legend className="sr-only">Type</legend>
      {(['home', 'link'] as const).map((value) => (
        <label key={value} className="flex items-center gap-2">
          <input
            type="radio"
            name="kind"
            checked={kind === value}
            onChange={() => setKind(value)}
            className="accent-accent"
          />
          {value === 'home' ? 'New agent' : 'Existing gateway'}
        </label>
      ))}
    </fieldset>
  )
}

/** Polls until a machine appears or comes online that was not so in `before`. */
function useConnected(before: Before): Installation | undefined {
  const { data } = useQuery({ ...machinesQuery, refetchInterval: LOOK_MS })
  return data?.find(({ id, tunnel }) => {
    const state = before.get(id)
    return state === undefined || (tunnel.state === 'online' && state !== 'online')
  })
}

function Waiting({ come }: { come: Installation | undefined }) {
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

/** Counts down to a time; 0 afterwards. */
function useSecondsUntil(at: string): number {
  const count = () => Math.max(0, Math.ceil((new Date(at).getTime() - Date.now()) / SECOND_MS))
  const [seconds, setSeconds] = useState(count)
  useEffect(() => {
    const timer = setInterval(() => setSeconds(count()), SECOND_MS)
    return () => clearInterval(timer)
  })
  return seconds
}

function formatLeft(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
