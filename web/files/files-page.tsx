import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { type AskingDialog, type ChosenFile, type ChosenFiles, FileDialogs } from './file-dialogs.tsx'
import { FilePane } from './file-pane.tsx'
import { FileSearch, FileTools } from './file-tools.tsx'
import { describeGitStatus, statusQuery, treeQuery } from './files-api.ts'
import { GitSection } from './git-section.tsx'
import { Tree, useDrop } from './tree.tsx'
import { folderOf, useFiles } from './use-files.ts'

const route = getRouteApi('/signed-in/agents/$agentId/files')

/** Page `/agents/$agentId/files`. */
export function FilesPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Files" isFilling>
      {({ agent }) => <Files key={agent.id} agent={agent} />}
    </AgentFrame>
  )
}

function Files({ agent }: { agent: WebAgent }) {
  const { path = null } = route.useSearch()
  const navigate = useNavigate()
  const files = useFiles(agent.id)
  const status = useQuery(statusQuery(agent.id)).data
  const [chosen, setChosen] = useState<ChosenFile | null>(path === null ? null : { path, type: 'file' })
  const [line, setLine] = useState<number | null>(null)
  const [asking, setAsking] = useState<AskingDialog | null>(null)
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
            Select a file to view or edit it. Drop files on the list to upload them.
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
      <FileDialogs
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

type FileListProps = ChosenFiles & {
  agentId: string
  changes: readonly { status: string; path: string }[]
  onAsk: (asking: AskingDialog) => void
  onChoose: (entry: ChosenFile) => void
  onFound: (path: string, line: number | null) => void
}

function FileList({ agentId, chosen, files, folder, changes, onAsk, onChoose, onFound }: FileListProps) {
  const query = useQuery(treeQuery(agentId))
  const [text, setText] = useState('')
  const search = useDeferredValue(text.trim())
  const byPath = useMemo(
    () => new Map(changes.map((change) => [change.path, describeGitStatus(change.status)])),
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
            what="files"
            placeholder={
              <LoadingShapes what="files" className="grid gap-2 p-2">
                <Skeleton className="h-5 w-2/3" />
                <Skeleton className="h-5 w-1/2" />
              </LoadingShapes>
            }
          >
            {({ root, isComplete }) => (
              <>
                {root.children.length === 0 && (
                  <p className="p-2 text-sm text-muted">No files yet. Drop files here or create one.</p>
                )}
                <Tree
                  root={root}
                  chosen={chosen?.path ?? null}
                  changes={byPath}
                  onChoose={({ path, type }) => onChoose({ path, type })}
                  onDropFiles={files.upload}
                />
                {!isComplete && (
                  <p className="p-2 text-sm text-muted">Not all files are listed. Use search to find the rest.</p>
                )}
              </>
            )}
          </Loaded>
        )}
      </div>
    </>
  )
}

function Remarks({ files }: Pick<FileListProps, 'files'>) {
  return (
    <div className="grid grid-cols-1 gap-2 px-3 not-empty:pt-3">
      {files.error && (
        <Notice tone="problem" title="Action failed">
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
