import { useQuery } from '@tanstack/react-query'
import { Ellipsis, FilePlus, FolderPlus, Pencil, Search, Trash2, Upload } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import type { AskingDialog, ChosenFiles } from './file-dialogs.tsx'
import { fileSearchQuery } from './files-api.ts'

type FileToolsProps = ChosenFiles & {
  onAsk: (asking: AskingDialog) => void
  text: string
  onText: (text: string) => void
}

export function FileTools({ text, onText, chosen, files, folder, onAsk }: FileToolsProps) {
  const inputRef = useRef<HTMLInputElement>(null)
  return (
    <div className="grid grid-cols-1 gap-2 border-b border-line p-3">
      <div className="relative">
        <Search
          aria-hidden
          className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted"
        />
        <input
          type="search"
          aria-label="Search files"
          placeholder="Search names and contents"
          value={text}
          maxLength={200}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          onChange={({ target }) => onText(target.value)}
          className="min-h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-base text-ink placeholder:text-muted sm:text-sm"
        />
      </div>
      <div className="flex items-center gap-1">
        <IconButton Icon={FilePlus} label="New file" onClick={() => onAsk('file')} />
        <IconButton Icon={FolderPlus} label="New folder" onClick={() => onAsk('folder')} />
        <IconButton
          Icon={Upload}
          label={`Upload to ${folder || 'the root folder'}`}
          onClick={() => inputRef.current?.click()}
        />
        <input
          ref={inputRef}
          type="file"
          multiple
          aria-label="Files to upload"
          tabIndex={-1}
          className="hidden"
          onChange={({ target }) => {
            files.upload(folder, [...(target.files ?? [])])
            target.value = ''
          }}
        />
        <span className="min-w-0 flex-1 truncate px-1 text-right text-xs text-muted">
          {files.isPending ? 'Working…' : folder && `in ${folder}`}
        </span>
        {chosen && (
          <Menu trigger={<IconButton Icon={Ellipsis} label={`Actions for ${chosen.path}`} />}>
            <MenuItem Icon={Pencil} onSelect={() => onAsk('rename')}>
              Rename or move
            </MenuItem>
            <MenuItem Icon={Trash2} tone="danger" onSelect={() => onAsk('delete')}>
              Delete
            </MenuItem>
          </Menu>
        )}
      </div>
    </div>
  )
}

type Match = { path: string; line: number | null; text: string | null }
type FileSearchProps = { agentId: string; text: string; onOpen: (path: string, line: number | null) => void }

export function FileSearch({ agentId, text, onOpen }: FileSearchProps) {
  const query = useQuery(fileSearchQuery(agentId, text))
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
