import { ChevronRight, File, Folder as FolderIcon, FolderOpen } from 'lucide-react'
import { type DragEvent, useState } from 'react'
import type { Folder, FolderEntry } from './files-api.ts'

type TreeProps = {
  root: Folder
  /** The open file, or the last selected folder. */
  chosen: string | null
  /** Git changes by path. */
  changes: ReadonlyMap<string, string>
  onChoose: (entry: FolderEntry) => void
  onDropFiles: (folder: string, files: readonly File[]) => void
}

/** Files can be dropped on a folder to upload them. */
export function Tree({ root, ...rest }: TreeProps) {
  return (
    <ul aria-label="Files" className="grid grid-cols-1">
      {root.children.map((entry) => (
        <Node key={entry.path} entry={entry} level={0} {...rest} />
      ))}
    </ul>
  )
}

type NodeProps = Omit<TreeProps, 'root'> & { entry: FolderEntry; level: number }

const indents = ['pl-2', 'pl-6', 'pl-10', 'pl-14']

function Node({ entry, level, ...rest }: NodeProps) {
  const { chosen, changes, onChoose } = rest
  const [isOpen, setOpen] = useState(chosen?.startsWith(`${entry.path}/`) ?? false)
  const drop = useDrop((files) => rest.onDropFiles(entry.path, files))
  const isFolder = entry.type === 'folder'
  const status = changes.get(entry.path)
  const Icon = !isFolder ? File : isOpen ? FolderOpen : FolderIcon
  return (
    <li {...(isFolder ? drop.handlers : {})}>
      <button
        type="button"
        aria-expanded={isFolder ? isOpen : undefined}
        aria-current={chosen === entry.path || undefined}
        onClick={() => {
          if (isFolder) setOpen(!isOpen)
          onChoose(entry)
        }}
        className={`flex min-h-8 w-full items-center gap-1.5 rounded-md pr-2 text-left text-sm hover:bg-sunken aria-[current]:bg-accent-soft ${indents[level] ?? 'pl-16'} ${drop.isOver ? 'bg-accent-soft' : ''}`}
      >
        <ChevronRight
          aria-hidden
          className={`size-3.5 shrink-0 text-muted transition-transform ${isFolder ? '' : 'invisible'} ${isOpen ? 'rotate-90' : ''}`}
        />
        <Icon aria-hidden className="size-4 shrink-0 text-muted" />
        <span className="min-w-0 flex-1 truncate">{entry.name}</span>
        {status && <span className="shrink-0 text-xs text-warn">{status}</span>}
      </button>
      {isFolder && isOpen && (
        <ul className="grid grid-cols-1">
          {entry.children.map((child) => (
            <Node key={child.path} entry={child} level={level + 1} {...rest} />
          ))}
          {entry.children.length === 0 && (
            <li className={`py-1 text-sm text-muted ${indents[level + 1] ?? 'pl-16'}`}>
              {level >= 3 ? 'Use search to find deeper files.' : 'Empty'}
            </li>
          )}
        </ul>
      )}
    </li>
  )
}

/** Accepts dropped files; the innermost drop target gets them. */
export function useDrop(onFiles: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false)
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files')
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      event.stopPropagation()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      setOver(false)
      if (!hasFiles(event)) return
      event.preventDefault()
      event.stopPropagation()
      onFiles([...event.dataTransfer.files])
    },
  }
  return { isOver, handlers }
}
