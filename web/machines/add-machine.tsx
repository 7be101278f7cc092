import { useMutation, useQuery } from '@tanstack/react-query'
import { CircleCheck, LoaderCircle, Plus } from 'lucide-react'
import { useState } from 'react'
import { messageFor } from '../api/request.ts'
import { createKey } from '../keys/keys-api.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { backendQuery, machinesQuery } from './machines-api.ts'

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
            {making.error && (
              <Notice tone="problem" title="Could not create the key">
                {messageFor(making.error)}
              </Notice>
            )}
            <Button
              className="justify-self-start"
              isPending={making.isPending}
              disabled={!known}
              onClick={() => making.mutate()}
            >
              {!making.isPending && <Plus aria-hidden className="size-4" />}
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
