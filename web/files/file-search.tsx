import { useQuery } from '@tanstack/react-query'
import { Loaded } from '../ui/loaded.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { searchQuery } from './files-api.ts'

type Match = { path: string; line: number | null; text: string | null }
type FileSearchProps = { agentId: string; text: string; onOpen: (path: string, line: number | null) => void }

export function FileSearch({ agentId, text, onOpen }: FileSearchProps) {
  const query = useQuery(searchQuery(agentId, text))
  return (
    <Loaded query={query} what="search results" placeholder={<Skeleton className="h-24" />}>
      {({ matches, isComplete }) => (
        <>
          <p role="status" className="px-2 py-1 text-xs text-muted">
            {matches.length === 0 ? 'No results' : `${matches.length} results`}
            {!isComplete && ' There may be more. Narrow your search.'}
          </p>
          <MatchList matches={matches} onOpen={onOpen} />
        </>
      )}
    </Loaded>
  )
}

type MatchListProps = Pick<FileSearchProps, 'onOpen'> & { matches: readonly Match[] }

function MatchList({ matches, onOpen }: MatchListProps) {
  return (
    <ul aria-label="Search results">
      {matches.map((match) => (
        <li key={`${match.path}:${match.line}`}>
          <MatchButton match={match} onOpen={onOpen} />
        </li>
      ))}
    </ul>
  )
}

function MatchButton({ match: { path, line, text }, onOpen }: Pick<FileSearchProps, 'onOpen'> & { match: Match }) {
  return (
    <button
      type="button"
      onClick={() => onOpen(path, line)}
      className="grid min-h-8 w-full grid-cols-1 rounded-md px-2 py-1 text-left text-sm hover:bg-sunken"
    >
      <span className="truncate">
        {path}
        {line !== null && <span className="text-muted">:{line}</span>}
      </span>
      {text !== null && <span className="truncate font-mono text-xs text-muted">{text.trim()}</span>}
    </button>
  )
}
