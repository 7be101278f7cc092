import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Ellipsis, FilePlus, FolderPlus, Pencil, Search, Trash2, Upload } from 'lucide-react'
import { useDeferredValue, useMemo, useRef, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { messageFor } from '../api/request.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { FilePane } from './file-pane.tsx'
import { FileSearch } from './file-search.tsx'
import { describeStatus, statusQuery, treeQuery } from './files-api.ts'
import { GitSection } from './git-section.tsx'
import { NameDialog } from './name-dialog.tsx'
import { Tree, useDrop } from './tree.tsx'
import { folderOf, joinPath, useFiles } from './use-files.ts'

const route = getRouteApi('/signed-in/agents/$agentId/files')

/** `/agents/$agentId/files`: what an agent works on. `?path=` names the file that is open. */
export function FilesPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Files" isFilling>
      {({ agent }) => <Files key={agent.id} agent={agent} />}
    </AgentFrame>
  )
}

/** What was chosen last, and what is asked about it. */
type Chosen = { path: string; type: 'file' | 'folder' }
type Asking = 'file' | 'folder' | 'rename' | 'delete'

function Files({ agent }: { agent: WebAgent }) {
  const { path = null } = route.useSearch()
  const navigate = useNavigate()
  const files = useFiles(agent.id)
  const status = useQuery(statusQuery(agent.id)).data
  const [chosen, setChosen] = useState<Chosen | null>(path === null ? null : { path, type: 'file' })
  const [line, setLine] = useState<number | null>(null)
  const [asking, setAsking] = useState<Asking | null>(null)
  const openFile = (opened: string | null, at: number | null = null) => {
    setLine(at)
    setChosen(opened === null ? null : { path: opened, type: 'file' })
    return navigate({ to: '.', search: opened === null ? {} : { path: opened } })
  }
  const folder = chosen === null ? '' : chosen.type === 'folder' ? chosen.path : folderOf(chosen.path)
  const drop = useDrop((dropped) => files.upload('', dropped))
  return (
    <div className="flex min-h-0 flex-1">
      <div
        {...drop.handlers}
        className={`flex min-h-0 w-full flex-col border-line lg:w-76 lg:shrink-0 lg:border-r ${path === null ? '' : 'max-lg:hidden'} ${drop.isOver ? 'bg-accent-soft' : ''}`}
      >
        <FileList
          agentId={agent.id}
          chosen={chosen}
          files={files}
          folder={folder}
          changes={status?.changes ?? []}
          onAsk={setAsking}
          onChoose={(entry) => (entry.type === 'file' ? void openFile(entry.path) : setChosen(entry))}
          onFound={openFile}
        />
        <GitSection agentId={agent.id} onOpen={openFile} />
      </div>
      <div className={`flex min-h-0 min-w-0 flex-1 flex-col ${path === null ? 'max-lg:hidden' : ''}`}>
        {path === null ? (
          <p className="m-auto max-w-sm p-6 text-center text-muted">
            Choose a file to read or change it. Files can be dropped on the list from your desktop.
          </p>
        ) : (
          <FilePane
            key={path}
            agentId={agent.id}
            path={path}
            line={line}
            isGitRepo={status?.isGitRepo ?? false}
            onClose={() => void openFile(null)}
          />
        )}
      </div>
      <Dialogs
        asking={asking}
        chosen={chosen}
        folder={folder}
        files={files}
        onOpen={openFile}
        onClose={() => setAsking(null)}
      />
    </div>
  )
}

type FileListProps = {
  agentId: string
  chosen: Chosen | null
  files: ReturnType<typeof useFiles>
  /** Where new ones go. */
  folder: string
  changes: readonly { status: string; path: string }[]
  onAsk: (asking: Asking) => void
  onChoose: (entry: Chosen) => void
  onFound: (path: string, line: number | null) => void
}

function FileList({ agentId, chosen, files, folder, changes, onAsk, onChoose, onFound }: FileListProps) {
  const query = useQuery(treeQuery(agentId))
  const [text, setText] = useState('')
  const search = useDeferredValue(text.trim())
  const byPath = useMemo(
    () => new Map(changes.map((change) => [change.path, describeStatus(change.status)])),
    [changes],
  )
  return (
    <>
      <FileTools text={text} onText={setText} chosen={chosen} files={files} folder={folder} onAsk={onAsk} />
      <Remarks files={files} />
      <div className="min-h-0 flex-1 overflow-y-auto p-2">
        {search !== '' ? (
          <FileSearch agentId={agentId} text={search} onOpen={onFound} />
        ) : (
          <Loaded
            query={query}
            what="The files"
            placeholder={
              <LoadingShapes what="the files" className="grid gap-2 p-2">
                <Skeleton className="h-5 w-2/3" />
                <Skeleton className="h-5 w-1/2" />
              </LoadingShapes>
            }
          >
            {({ root, isComplete }) => (
              <>
                {root.children.length === 0 && (
                  <p className="p-2 text-sm text-muted">Nothing is here yet. Drop files here, or make a new one.</p>
                )}
                <Tree
                  root={root}
                  chosen={chosen?.path ?? null}
                  changes={byPath}
                  onChoose={({ path, type }) => onChoose({ path, type })}
                  onDropFiles={files.upload}
                />
                {!isComplete && <p className="p-2 text-sm text-muted">There are more; the search finds them.</p>}
              </>
            )}
          </Loaded>
        )}
      </div>
    </>
  )
}

type FileToolsProps = Pick<FileListProps, 'chosen' | 'files' | 'folder' | 'onAsk'> & {
  text: string
  onText: (text: string) => void
}

function FileTools({ text, onText, chosen, files, folder, onAsk }: FileToolsProps) {
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
          placeholder="Search names and text"
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
        <IconButton label="New file" onClick={() => onAsk('file')}>
          <FilePlus aria-hidden className="size-4.5" />
        </IconButton>
        <IconButton label="New folder" onClick={() => onAsk('folder')}>
          <FolderPlus aria-hidden className="size-4.5" />
        </IconButton>
        <IconButton label={`Upload to ${folder || 'the top'}`} onClick={() => inputRef.current?.click()}>
          <Upload aria-hidden className="size-4.5" />
        </IconButton>
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
          <Menu
            trigger={
              <IconButton label={`Actions for ${chosen.path}`}>
                <Ellipsis aria-hidden className="size-4.5" />
              </IconButton>
            }
          >
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

/** What did not work, and the way back from what did. */
function Remarks({ files }: Pick<FileListProps, 'files'>) {
  return (
    <div className="grid grid-cols-1 gap-2 px-3 not-empty:pt-3">
      {files.error && (
        <Notice tone="problem" title="That did not work">
          <p>{messageFor(files.error)}</p>
          <Button className="justify-self-start" onClick={files.forget}>
            Dismiss
          </Button>
        </Notice>
      )}
      {files.undo && (
        <Notice tone="note">
          <p className="break-all">{files.undo.text}</p>
          <div className="flex gap-2">
            <Button isPending={files.isPending} onClick={files.takeBack}>
              Undo
            </Button>
            <Button look="ghost" onClick={files.forget}>
              Dismiss
            </Button>
          </div>
        </Notice>
      )}
    </div>
  )
}

type DialogsProps = Pick<FileListProps, 'chosen' | 'files' | 'folder'> & {
  asking: Asking | null
  onOpen: (path: string | null) => Promise<void>
  onClose: () => void
}

function Dialogs({ asking, chosen, files, folder, onOpen, onClose }: DialogsProps) {
  if (asking === null) return null
  const initial = folder === '' ? '' : joinPath(folder, '')
  if (asking === 'file') {
    const create = (path: string) => files.createFile(path, () => onOpen(path))
    const lead = 'Folders in the path are made with it.'
    return <NameDialog title="New file" verb="Create file" {...{ lead, initial, onClose }} onConfirm={create} />
  }
  if (asking === 'folder') {
    const lead = 'Names with a slash make folders in folders.'
    return (
      <NameDialog
        title="New folder"
        verb="Create folder"
        {...{ lead, initial, onClose }}
        onConfirm={files.createFolder}
      />
    )
  }
  if (!chosen) return null
  const show = (path: string) => () => onOpen(path === '' ? null : path)
  if (asking === 'rename') {
    const rename = (to: string) => files.rename(chosen.path, to, chosen.type === 'file' ? show(to) : show(''))
    const lead = 'Another folder in the path moves it there.'
    return (
      <NameDialog
        title="Rename or move"
        verb="Rename"
        initial={chosen.path}
        {...{ lead, onClose }}
        onConfirm={rename}
      />
    )
  }
  return (
    <AskDialog
      title={`Delete ${chosen.path}?`}
      lead={
        chosen.type === 'file'
          ? 'You can take it back as long as this page is open.'
          : 'Everything in it goes with it. This cannot be undone.'
      }
      verb="Delete"
      isPending={false}
      error={null}
      onConfirm={() => {
        files.remove(chosen.path, chosen.type, show(''))
        onClose()
      }}
      onClose={onClose}
    />
  )
}
