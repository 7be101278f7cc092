import { useMutation, useQuery } from '@tanstack/react-query'
import { GitBranch, GitCommitHorizontal } from 'lucide-react'
import { type SyntheticEvent, useState } from 'react'
import type { z } from 'zod'
import type { GitStatus } from '../../src/features/web-tools/browse/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { ErrorNotice, Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { commitAll, describeGitStatus, filesKey, gitHistoryQuery, startHistory, statusQuery } from './files-api.ts'

type Status = z.infer<typeof GitStatus>
type GitSectionProps = { agentId: string; onOpen: (path: string) => void }

export function GitSection({ agentId, onOpen }: GitSectionProps) {
  const query = useQuery(statusQuery(agentId))
  return (
    <section aria-label="Git" className="grid grid-cols-1 gap-3 border-t border-line p-3">
      <Loaded query={query} what="git status" placeholder={<Skeleton className="h-16" />}>
        {(status) =>
          status.isGitRepo ? (
            <Repository agentId={agentId} status={status} onOpen={onOpen} />
          ) : (
            <NoRepository agentId={agentId} />
          )
        }
      </Loaded>
    </section>
  )
}

function NoRepository({ agentId }: { agentId: string }) {
  const start = useMutation({
    mutationFn: () => startHistory(agentId),
    onSettled: () => refresh({ queryKey: filesKey(agentId) }),
  })
  return (
    <>
      <p className="text-sm text-muted">No Git repository yet. Start version history to see and commit changes.</p>
      <Button Icon={GitBranch} isPending={start.isPending} onClick={() => start.mutate()}>
        Start version history
      </Button>
      <ErrorNotice title="Could not start version history" error={start.error} />
    </>
  )
}

function Repository({ agentId, status, onOpen }: GitSectionProps & { status: Status }) {
  return (
    <>
      <h2 className="flex items-center gap-2 text-sm font-semibold">
        <GitBranch aria-hidden className="size-4 text-muted" />
        <span className="min-w-0 truncate">{status.branch}</span>
      </h2>
      {status.changes.length > 0 && <ChangeList changes={status.changes} onOpen={onOpen} />}
      <CommitBar agentId={agentId} count={status.changes.length} remote={status.remote} />
      <History agentId={agentId} />
    </>
  )
}

function ChangeList({ changes, onOpen }: Pick<Status, 'changes'> & Pick<GitSectionProps, 'onOpen'>) {
  const look = 'flex min-h-7 w-full items-center gap-2 rounded px-1 text-left text-sm hover:bg-sunken'
  return (
    <ul aria-label="Uncommitted changes" className="max-h-36 overflow-y-auto">
      {changes.map(({ path, status }) => (
        <li key={path}>
          <button type="button" onClick={() => onOpen(path)} className={look}>
            <span className="min-w-0 flex-1 truncate">{path}</span>
            <span className="shrink-0 text-xs text-warn">{describeGitStatus(status)}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

type CommitBarProps = { agentId: string; count: number; remote: string | null }

function CommitBar({ agentId, count, remote }: CommitBarProps) {
  const [message, setMessage] = useState('')
  const commit = useMutation({
    mutationFn: () => commitAll(agentId, message.trim()),
    onSuccess: () => setMessage(''),
    onSettled: () => refresh({ queryKey: filesKey(agentId) }),
  })
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    if (!commit.isPending && count > 0) commit.mutate()
  }
  return (
    <form onSubmit={submit} className="grid grid-cols-1 gap-2">
      <input
        aria-label="Commit message"
        placeholder={count === 0 ? 'Nothing to commit' : 'Commit message'}
        value={message}
        disabled={count === 0}
        maxLength={10_000}
        onChange={({ target }) => setMessage(target.value)}
        className="min-h-9 w-full rounded-md border border-edge bg-surface px-3 text-base text-ink placeholder:text-muted disabled:opacity-60 sm:text-sm"
      />
      <Button Icon={GitCommitHorizontal} type="submit" isPending={commit.isPending} disabled={count === 0}>
        {count === 0 ? 'Commit' : `Commit ${count} ${count === 1 ? 'change' : 'changes'}`}
        {remote && ' and push'}
      </Button>
      <ErrorNotice title="Commit failed" error={commit.error} />
      {commit.data && <Notice tone={commit.data.pushed || !remote ? 'good' : 'warning'}>{commit.data.message}</Notice>}
    </form>
  )
}

function History({ agentId }: { agentId: string }) {
  const [isOpen, setOpen] = useState(false)
  const query = useQuery({ ...gitHistoryQuery(agentId), enabled: isOpen })
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)} className="text-sm">
      <summary className="cursor-pointer text-muted hover:text-ink">History</summary>
      {isOpen && (
        <Loaded query={query} what="history" placeholder={<Skeleton className="mt-2 h-16" />}>
          {({ commits }) =>
            commits.length === 0 ? (
              <p className="pt-2 text-muted">No commits yet</p>
            ) : (
              <ol aria-label="Commits" className="mt-2 grid max-h-60 grid-cols-1 gap-2 overflow-y-auto">
                {commits.map((commit) => (
                  <li key={commit.hash}>
                    <p className="break-words">{commit.subject}</p>
                    <p className="text-xs text-muted">
                      <code className="font-mono">{commit.shortHash}</code> {commit.author}, {commit.date}
                    </p>
                  </li>
                ))}
              </ol>
            )
          }
        </Loaded>
      )}
    </details>
  )
}

/** Renders a unified diff. */
export function Patch({ text, label }: { text: string; label: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section per diff would be noise
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto bg-surface py-2 font-mono text-[0.8125rem] leading-5 -outline-offset-2"
    >
      <pre className="min-w-max">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no stable key and never move
          <span key={index} className={`block px-4 ${lookOf(line)}`}>
            {line || ' '}
          </span>
        ))}
      </pre>
    </div>
  )
}

function lookOf(line: string): string {
  if (/^(\+\+\+|---|diff |index |===|new file|deleted file)/.test(line)) return 'text-muted'
  if (line.startsWith('@@')) return 'bg-sunken text-muted'
  if (line.startsWith('+')) return 'bg-accent-soft text-accent'
  return line.startsWith('-') ? 'bg-bad-soft text-bad' : ''
}
