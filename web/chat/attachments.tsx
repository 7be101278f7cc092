import { Paperclip, X } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { z } from 'zod'
import { ChatAttachment, MAX_ATTACHMENTS } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { IconButton } from '../ui/button.tsx'
import { uploadAttachment } from './chat-api.ts'

/** A hint for the file chooser; the server checks the content. */
const ACCEPTED = 'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*,.md,.csv,.json,.log,.yaml,.yml,.toml'

/** The server deletes unsent files after a day. */
const KEPT_MS = 20 * 3_600_000

const KeptFiles = z.object({ until: z.number(), files: z.array(ChatAttachment) })

/** Uploads files as they are chosen and keeps them with the draft. */
export function useAttachments(agentId: string, draftOf: string) {
  const key = `stead-files:${draftOf}`
  const [files, setFiles] = useState(() => readKept(key))
  const [uploading, setUploading] = useState(0)
  const [problem, setProblem] = useState<string | null>(null)
  useEffect(() => keepFiles(key, files), [key, files])
  const add = async (chosen: readonly File[]) => {
    const free = MAX_ATTACHMENTS - files.length
    setProblem(chosen.length > free ? `A message can have up to ${MAX_ATTACHMENTS} files.` : null)
    for (const file of chosen.slice(0, free)) {
      setUploading((count) => count + 1)
      try {
        const attachment = await uploadAttachment(agentId, file)
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
    /** Restores the files of an unsent message, even after the page moved to another conversation. */
    putBack: (unsent: readonly ChatAttachment[]) => {
      keepFiles(key, unsent)
      setFiles(unsent)
    },
  }
}

/** Accepts files dropped anywhere on the page; the browser would open them instead. */
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

/** Storage may hold other data than this version wrote. */
function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

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
          // Allows choosing the same file again.
          event.target.value = ''
        }}
      />
      <IconButton
        Icon={Paperclip}
        label="Attach files"
        disabled={isDisabled}
        onClick={() => inputRef.current?.click()}
      />
    </>
  )
}

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
