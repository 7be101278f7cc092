import { useQuery } from '@tanstack/react-query'
import { Loaded } from '../ui/loaded.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { searchQuery } from './files-api.ts'

type FileSearchProps = { agentId: string; text: string; onOpen: (path: string, line: number | null) => void }

/** Files by their names, and lines by what they hold. */
export function FileSearch({ agentId, text, onOpen }: FileSearchProps) {
  const query = useQuery(searchQuery(agentId, text))
  return (
    <Loaded query={query} what="The search" placeholder={<Skeleton className="h-24" />}>
      {({ matches, isComplete }) => (
        <>
          <p role="status" className="px-2 py-1 text-xs text-muted">
            {matches.length === 0 ? 'Nothing was found.' : `${matches.length} found`}
            {!isComplete && ' There may be more: search for something rarer.'}
          </p>
          <ul aria-label="Found">
            {matches.map(({ path, line, text: found }) => (
              <li key={`${path}:${line}`}>
                <button
                  type="button"
                  onClick={() => onOpen(path, line)}
                  className="grid min-h-8 w-full grid-cols-1 rounded-md px-2 py-1 text-left text-sm hover:bg-sunken"
                >
                  <span className="truncate">
                    {path}
                    {line !== null && <span className="text-muted">:{line}</span>}
                  </span>
                  {found !== null && <span className="truncate font-mono text-xs text-muted">{found.trim()}</span>}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  )
}
