import { Ellipsis, FilePlus, FolderPlus, Pencil, Search, Trash2, Upload } from 'lucide-react'
import { useRef } from 'react'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import type { Asking, ChosenFiles } from './file-dialogs.tsx'

type FileToolsProps = ChosenFiles & {
  onAsk: (asking: Asking) => void
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
        <IconButton label="New file" onClick={() => onAsk('file')}>
          <FilePlus aria-hidden className="size-4.5" />
        </IconButton>
        <IconButton label="New folder" onClick={() => onAsk('folder')}>
          <FolderPlus aria-hidden className="size-4.5" />
        </IconButton>
        <IconButton label={`Upload to ${folder || 'the root folder'}`} onClick={() => inputRef.current?.click()}>
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
