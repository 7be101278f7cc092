import { useMutation } from '@tanstack/react-query'
import { FolderInput } from 'lucide-react'
import { type ChangeEvent, useId, useRef, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { WorkspaceImported } from '../../src/features/conversations/memory/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { api, request, within } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { ErrorNotice, Notice, Patience } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { memoryQuery } from './memory-section.tsx'
import { type FoundFile, findWorkspace, takeWithinLimits, toImport } from './workspace-files.ts'

type Picked = { path: string; size: number; text(): Promise<string> }
type Choice = { files: number; found: FoundFile<Picked>[]; taken: FoundFile<Picked>[] }

export function WorkspaceImportSection({ agent }: { agent: WebAgent }) {
  const [choice, setChoice] = useState<Choice | null>(null)
  const importing = useMutation({
    mutationFn: async (taken: Choice['taken']) =>
      request(
        WorkspaceImported,
        api.POST('/api/memory/import', { body: await toImport(agent.id, taken), fetch: within(60_000) }),
      ),
    async onSuccess() {
      setChoice(null)
      await refresh(memoryQuery(agent.id))
    },
  })
  const choose = (files: readonly File[]) => {
    importing.reset()
    const found = findWorkspace(files.map(toPicked))
    setChoice(files.length === 0 ? null : { files: files.length, found, taken: takeWithinLimits(found) })
  }
  return (
    <Section
      title="Import from OpenClaw"
      lead={`Adds SOUL.md to the instructions of ${agent.name}, and MEMORY.md, USER.md and the diary in memory/ to its facts. Existing facts are kept.`}
    >
      <div className="flex flex-wrap gap-2">
        <FilePick label="Choose workspace folder" isFolder onChoose={choose} />
        <FilePick label="Choose files" onChoose={choose} />
      </div>
      {choice && <FoundFiles choice={choice} />}
      <ErrorNotice title="Nothing was imported" error={importing.error} />
      {choice && choice.taken.length > 0 && (
        <div className="flex flex-wrap gap-2">
          <Button look="primary" isPending={importing.isPending} onClick={() => importing.mutate(choice.taken)}>
            Import {choice.taken.length === 1 ? '1 file' : `${choice.taken.length} files`}
          </Button>
          <Button onClick={() => setChoice(null)}>Cancel</Button>
        </div>
      )}
      <Patience isPending={importing.isPending}>Uploading files…</Patience>
      {importing.data && <Imported result={importing.data} />}
    </Section>
  )
}

type FilePickProps = { label: string; isFolder?: boolean; onChoose: (files: readonly File[]) => void }

function FilePick({ label, isFolder = false, onChoose }: FilePickProps) {
  const id = useId()
  const ref = useRef<HTMLInputElement>(null)
  const take = ({ target }: ChangeEvent<HTMLInputElement>) => {
    onChoose([...(target.files ?? [])])
    // Allows choosing the same files again.
    target.value = ''
  }
  return (
    <>
      <Button aria-controls={id} onClick={() => ref.current?.click()}>
        {isFolder && <FolderInput aria-hidden className="size-4" />}
        {label}
      </Button>
      <input
        ref={ref}
        id={id}
        type="file"
        multiple
        hidden
        aria-label={label}
        accept={isFolder ? undefined : '.md,text/markdown'}
        onChange={take}
        {...(isFolder && { webkitdirectory: '' })}
      />
    </>
  )
}

function FoundFiles({ choice: { files, found, taken } }: { choice: Choice }) {
  if (found.length === 0) {
    return (
      <Notice tone="warning" title="No workspace found">
        <p>
          The workspace is usually ~/.openclaw/workspace and contains MEMORY.md, USER.md or SOUL.md. The dialog may hide
          folders that start with a dot.
        </p>
      </Notice>
    )
  }
  const others = files - found.length
  return (
    <div className="grid grid-cols-1 gap-2">
      <p className="text-sm text-muted" role="status">
        {found.length === 1 ? '1 file found' : `${found.length} files found`} in the workspace
        {others > 0 && `; ${others} ${others === 1 ? 'other file' : 'other files'} skipped`}.
        {taken.length < found.length && ` One import takes up to ${taken.length}; import the rest afterwards.`}
      </p>
      <ul
        aria-label="Search results"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="max-h-60 divide-y divide-line overflow-y-auto rounded-lg border border-line"
      >
        {taken.map(({ path, into, file }) => (
          <li key={path} className="flex flex-wrap justify-between gap-x-4 px-3 py-2 text-sm">
            <span className="min-w-0 font-mono text-[0.8125rem] wrap-anywhere">{path}</span>
            <span className="text-muted tabular-nums">
              {formatSize(file.size)}, into the {into}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function Imported({ result: { facts, instructions, known, skipped } }: { result: WorkspaceImported }) {
  const brought = facts.length + instructions.length
  return (
    <Notice tone={brought > 0 ? 'good' : 'note'} title={brought > 0 ? 'Imported' : 'Nothing new to import'}>
      <ul className="list-disc pl-4">
        {facts.length > 0 && <li>Added facts: {facts.join(', ')}</li>}
        {instructions.length > 0 && <li>Added to the instructions: {instructions.join(', ')}</li>}
        {known.length > 0 && <li>Already known, unchanged: {known.join(', ')}</li>}
        {skipped.map(({ path, reason }) => (
          <li key={path}>
            {path} was skipped: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function toPicked(file: File): Picked {
  const path = file.webkitRelativePath.split('/').slice(1).join('/') || file.name
  return { path, size: file.size, text: () => file.text() }
}

function formatSize(bytes: number): string {
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(1)} kB`
}
