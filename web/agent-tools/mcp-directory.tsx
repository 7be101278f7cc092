import { useMutation, useQuery } from '@tanstack/react-query'
import type {
  McpDirectory as Directory,
  McpServer,
  StartedAuthorization,
} from '../../src/features/conversations/mcp-servers/schemas.ts'
import { Button } from '../ui/button.tsx'
import { ErrorNotice, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Consent } from './mcp-connection.tsx'
import { addServer, directoryQuery, startAuthorization } from './tools-api.ts'

type DirectoryProps = { agentId: string; servers: readonly McpServer[] }
type Entry = Directory['servers'][number]

const needs: Readonly<Record<Entry['auth'], string>> = {
  none: 'No sign-in',
  oauth: 'Sign-in',
  'oauth-client': 'Sign-in with an application of yours',
}

/** Well-known servers, which are added and connected with one click. */
export function McpDirectoryList({ agentId, servers }: DirectoryProps) {
  const { data, error, refetch } = useQuery(directoryQuery)
  return (
    <details className="text-sm">
      <summary className="cursor-pointer py-2 font-medium">Add a well-known server</summary>
      {!data && error && <LoadProblem what="servers" error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton className="h-16" />}
      <ul className="grid grid-cols-1 gap-x-6 sm:grid-cols-2">
        {data?.map((entry) => (
          <DirectoryEntry
            key={entry.name}
            agentId={agentId}
            entry={entry}
            isAdded={servers.some(({ url }) => url === entry.url)}
          />
        ))}
      </ul>
    </details>
  )
}

type EntryProps = { agentId: string; entry: Entry; isAdded: boolean }

function DirectoryEntry({ agentId, entry, isAdded }: EntryProps) {
  const { name, title, description, url, auth, documentation } = entry
  const add = useMutation({
    mutationFn: async (): Promise<StartedAuthorization | null> => {
      const { id } = await addServer(agentId, { name, url })
      return auth === 'oauth' ? startAuthorization(agentId, id, {}) : null
    },
  })
  return (
    <li className="grid grid-cols-1 content-start gap-2 border-b border-line py-3">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <p className="font-medium">{title}</p>
          <p className="text-muted">
            {description}. {needs[auth]}.{' '}
            <a href={documentation} target="_blank" rel="noreferrer" className="underline">
              Documentation
            </a>
          </p>
        </div>
        <Button aria-label={`Add ${title}`} disabled={isAdded} isPending={add.isPending} onClick={() => add.mutate()}>
          {isAdded ? 'Added' : 'Add'}
        </Button>
      </div>
      <ErrorNotice title={`Could not connect ${title}`} error={add.error} />
      {add.data && <Consent started={add.data} onCancel={() => add.reset()} />}
    </li>
  )
}
