import { Paperclip, X } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { z } from 'zod'
import { ChatAttachment, MAX_ATTACHMENTS } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { IconButton } from '../ui/button.tsx'
import { uploadFile } from './chat-api.ts'

/** What can be attached; the server looks at what stands in a file, this only helps to choose one. */
const ACCEPTED = 'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json,.log,.yaml,.yml,.toml'

/** The server forgets files that were not sent within a day. */
const KEPT_MS = 20 * 3_600_000

const KeptFiles = z.object({ until: z.number(), files: z.array(ChatAttachment) })

/** The files of the message that is being written, which are uploaded as they are chosen and kept like its draft. */
export function useAttachments(agentId: string, draftOf: string) {
  const key = `stead-files:${draftOf}`
  const [files, setFiles] = useState(() => readKept(key))
  const [uploading, setUploading] = useState(0)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => keepFiles(key, files), [key, files])
  const add = async (chosen: readonly File[]) => {
    const room = MAX_ATTACHMENTS - files.length
    setProblem(chosen.length > room ? `A message can have up to ${MAX_ATTACHMENTS} files.` : null)
    for (const file of chosen.slice(0, room)) {
      setUploading((count) => count + 1)
      try {
        const attachment = await uploadFile(agentId, file)
        setFiles((known) => [...known, attachment])
      } catch (error) {
        setProblem(`${file.name}: ${messageFor(error)}`)
      } finally {
        setUploading((count) => count - 1)
      }
    }
  }
  return {
    files,
    isUploading: uploading > 0,
    problem,
    add: (chosen: readonly File[]) => void add(chosen),
    remove: (id: string) => setFiles((known) => known.filter((file) => file.id !== id)),
    clear: () => setFiles([]),
    /** Puts the files of a message that was not sent back, even when the page has gone on to another one. */
    putBack: (unsent: readonly ChatAttachment[]) => {
      keepFiles(key, unsent)
      setFiles(unsent)
    },
  }
}

/** Takes files that are dropped anywhere on the page: the browser would leave it to show them. */
export function useDroppedFiles(onDropped: (files: File[]) => void): void {
  const take = useEffectEvent(onDropped)
  useEffect(() => {
    const listening = new AbortController()
    const { signal } = listening
    const onDragOver = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
    }
    const onDrop = (event: DragEvent) => {
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length === 0) return
      event.preventDefault()
      take(files)
    }
    addEventListener('dragover', onDragOver, { signal })
    addEventListener('drop', onDrop, { signal })
    return () => listening.abort()
  }, [])
}

function keepFiles(key: string, files: readonly ChatAttachment[]): void {
  if (files.length === 0) localStorage.removeItem(key)
  else localStorage.setItem(key, JSON.stringify({ until: Date.now() + KEPT_MS, files }))
}

function readKept(key: string): readonly ChatAttachment[] {
  const kept = KeptFiles.safeParse(readJson(localStorage.getItem(key)))
  return kept.success && kept.data.until > Date.now() ? kept.data.files : []
}

/** What was kept by an older page, or by hand, need not be JSON. */
function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

/** Opens the choice of files of the browser. */
export function AttachButton({ isDisabled, onChoose }: { isDisabled: boolean; onChoose: (files: File[]) => void }) {
  const inputRef = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={inputRef}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        accept={ACCEPTED}
        onChange={(event) => {
          onChoose([...(event.target.files ?? [])])
          // The same file can be chosen again.
          event.target.value = ''
        }}
      />
      <IconButton label="Attach files" disabled={isDisabled} onClick={() => inputRef.current?.click()}>
        <Paperclip aria-hidden className="size-4" />
      </IconButton>
    </>
  )
}

/** The names of files, with a way to take each away where `onRemove` is given. */
export function FileChips({ files, onRemove }: { files: readonly ChatAttachment[]; onRemove?: (id: string) => void }) {
  return (
    <ul aria-label="Attached files" className="mt-1 flex min-w-0 flex-wrap gap-1.5">
      {files.map(({ id, name, path }) => (
        <li
          key={id}
          title={path}
          className="flex max-w-full items-center gap-1 rounded-md border border-line bg-surface px-2 py-0.5 text-sm"
        >
          <Paperclip aria-hidden className="size-3.5 shrink-0" />
          <span className="truncate">{name}</span>
          {onRemove && (
            <button type="button" aria-label={`Remove ${name}`} className="p-1" onClick={() => onRemove(id)}>
              <X aria-hidden className="size-3.5" />
            </button>
          )}
        </li>
      ))}
    </ul>
  )
}
