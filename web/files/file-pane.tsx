import { useMutation, useQuery } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { createTwoFilesPatch } from 'diff'
import { ArrowLeft, Download, FileDiff, Save } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { queryClient, refresh } from '../api/query-client.ts'
import { ApiError, hasCode } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass, IconButton } from '../ui/button.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { changesQuery, downloadPath, fileQuery, filesKey, type OpenedFile, writeText } from './files-api.ts'
import { Patch } from './git-section.tsx'

const CodeEditor = lazy(async () => ({ default: (await import('./code-editor.tsx')).CodeEditor }))

type FilePaneProps = { agentId: string; path: string; line: number | null; isGitRepo: boolean; onClose: () => void }

export function FilePane({ agentId, path, ...rest }: FilePaneProps) {
  const query = useQuery(fileQuery(agentId, path))
  const error = query.data ? null : query.error
  if (error instanceof ApiError && error.status === 400) {
    return <Unreadable agentId={agentId} path={path} reason={error.message} onClose={rest.onClose} />
  }
  return (
    <Loaded
      query={query}
      what="file"
      problemClassName="p-4"
      placeholder={
        <LoadingShapes what="file" className="grid gap-2 p-4">
          <Skeleton className="h-8 w-1/2" />
          <Skeleton className="h-5 w-4/5" />
          <Skeleton className="h-5 w-3/5" />
        </LoadingShapes>
      }
    >
      {(file) => <Editing key={path} agentId={agentId} file={file} {...rest} />}
    </Loaded>
  )
}

type EditingProps = Omit<FilePaneProps, 'path'> & { file: OpenedFile }

/** `base` is the version being edited; the server's may have changed since. */
function Editing({ agentId, file, line, isGitRepo, onClose }: EditingProps) {
  const [base, setBase] = useState({ content: file.content, hash: file.hash })
  const [text, setText] = useState(base.content)
  const [isComparing, setComparing] = useState(false)
  const isDirty = text !== base.content
  const isBehind = file.hash !== base.hash
  if (isBehind && !isDirty) {
    setBase({ content: file.content, hash: file.hash })
    setText(file.content)
  }
  const saving = useMutation({
    mutationFn: (ifMatch: string | undefined) => writeText(agentId, file.path, text, ifMatch),
    onSuccess: ({ hash }) => {
      queryClient.setQueryData(fileQuery(agentId, file.path).queryKey, { ...file, content: text, hash })
      setBase({ content: text, hash })
    },
    onError: () => refresh(fileQuery(agentId, file.path)),
    onSettled: () => refresh({ queryKey: filesKey(agentId, 'status') }),
  })
  useBlocker({
    shouldBlockFn: () => isDirty && !window.confirm('Discard unsaved changes?'),
    enableBeforeUnload: isDirty,
  })
  const save = () => isDirty && !saving.isPending && saving.mutate(base.hash)
  const takeTheirs = () => {
    setBase({ content: file.content, hash: file.hash })
    setText(file.content)
    saving.reset()
  }
  return (
    <>
      <PaneHead agentId={agentId} path={file.path} isDirty={isDirty} onClose={onClose}>
        <Button Icon={FileDiff} aria-pressed={isComparing} look="ghost" onClick={() => setComparing(!isComparing)}>
          Compare
        </Button>
        <Button Icon={Save} look="primary" isPending={saving.isPending} disabled={!isDirty} onClick={save}>
          Save
        </Button>
      </PaneHead>
      {isBehind && isDirty && (
        <Conflict
          path={file.path}
          onTheirs={takeTheirs}
          onMine={() => saving.mutate(file.hash)}
          onCompare={() => setComparing(true)}
        />
      )}
      {saving.error && !hasCode(saving.error, 'FILE_CHANGED') && (
        <div className="p-3">
          <ErrorNotice title={`Could not save ${file.path}`} error={saving.error} />
        </div>
      )}
      {isComparing ? (
        <Comparison agentId={agentId} file={file} text={text} isGitRepo={isGitRepo} />
      ) : (
        <Suspense fallback={<p className="p-4 text-sm text-muted">Loading the editor…</p>}>
          <CodeEditor path={file.path} text={text} version={base.hash} line={line} onChange={setText} onSave={save} />
        </Suspense>
      )}
    </>
  )
}

type ConflictProps = { path: string; onTheirs: () => void; onMine: () => void; onCompare: () => void }

/** Shown when the file changed on the server, often by the agent itself. */
function Conflict({ path, onTheirs, onMine, onCompare }: ConflictProps) {
  return (
    <div className="p-3">
      <Notice tone="warning" role="alert" title="The file has changed on the server">
        <p>{path} changed on the server after you opened it. Your edits are still here, unsaved.</p>
        <div className="flex flex-wrap gap-2">
          <Button onClick={onCompare}>Compare</Button>
          <Button onClick={onTheirs}>Discard my changes</Button>
          <Button onClick={onMine}>Overwrite</Button>
        </div>
      </Notice>
    </div>
  )
}

type ComparisonProps = { agentId: string; file: OpenedFile; text: string; isGitRepo: boolean }

/** Compares unsaved text with the server's file, or a saved file with its last commit. */
function Comparison({ agentId, file, text, isGitRepo }: ComparisonProps) {
  const isSaved = text === file.content
  const query = useQuery({ ...changesQuery(agentId, file.path), enabled: isSaved && isGitRepo })
  if (!isSaved) {
    const patch = createTwoFilesPatch('on the server', 'yours', file.content, text)
    return <Patch label="Unsaved changes" text={patch} />
  }
  if (!isGitRepo)
    return <p className="p-4 text-sm text-muted">No unsaved changes, and no Git repository to compare with.</p>
  return (
    <Loaded query={query} what="changes" problemClassName="p-4" placeholder={<Skeleton className="m-4 h-24" />}>
      {({ unstaged, staged }) => {
        const patch = [staged, unstaged].filter(Boolean).join('\n')
        return patch ? (
          <Patch label="Uncommitted changes" text={patch} />
        ) : (
          <p className="p-4 text-sm text-muted">No changes since the last commit, or the file is untracked.</p>
        )
      }}
    </Loaded>
  )
}

type PaneHeadProps = {
  agentId: string
  path: string
  isDirty?: boolean
  onClose: () => void
  children?: React.ReactNode
}

function PaneHead({ agentId, path, isDirty = false, onClose, children }: PaneHeadProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
      <IconButton Icon={ArrowLeft} label="Back to files" className="lg:hidden" onClick={onClose} />
      <h2 className="min-w-32 flex-1 truncate font-mono text-sm" title={path}>
        {path}
      </h2>
      {isDirty && <Badge tone="warning">Unsaved</Badge>}
      <a href={downloadPath(agentId, path)} download className={buttonClass('ghost')}>
        <Download aria-hidden className="size-4" />
        Download
      </a>
      {children}
    </div>
  )
}

type UnreadableProps = { agentId: string; path: string; reason: string; onClose: () => void }

function Unreadable({ agentId, path, reason, onClose }: UnreadableProps) {
  return (
    <>
      <PaneHead agentId={agentId} path={path} onClose={onClose} />
      <div className="p-4">
        <Notice tone="note" title="This file cannot be displayed">
          <p>{reason}</p>
          <p>Only text files up to 1 MB can be viewed and edited. Download the file instead.</p>
        </Notice>
      </div>
    </>
  )
}
