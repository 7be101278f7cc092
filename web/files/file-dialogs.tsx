import { useState } from 'react'
import { TextField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { joinPath, type useFiles } from './use-files.ts'

export type ChosenFile = { path: string; type: 'file' | 'folder' }
export type AskingDialog = 'file' | 'folder' | 'rename' | 'delete'
export type ChosenFiles = {
  chosen: ChosenFile | null
  files: ReturnType<typeof useFiles>
  /** Where new files are created. */
  folder: string
}

type FileDialogsProps = ChosenFiles & {
  asking: AskingDialog | null
  onOpen: (path: string | null) => Promise<void>
  onClose: () => void
}

export function FileDialogs({ asking, chosen, files, folder, onOpen, onClose }: FileDialogsProps) {
  if (asking === null) return null
  const initial = folder === '' ? '' : joinPath(folder, '')
  if (asking === 'file') {
    const create = (path: string) => files.createFile(path, () => onOpen(path))
    const lead = 'Missing folders in the path are created.'
    return <NameDialog title="New file" verb="Create file" {...{ lead, initial, onClose }} onConfirm={create} />
  }
  if (asking === 'folder') {
    const lead = 'Use slashes to create nested folders.'
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
    const lead = 'Change the folder in the path to move the file.'
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
    <ConfirmDialog
      title={`Delete ${chosen.path}?`}
      lead={
        chosen.type === 'file'
          ? 'You can undo this while the page is open.'
          : 'Everything in the folder is deleted. This cannot be undone.'
      }
      verb="Delete"
      onConfirm={() => {
        files.remove(chosen.path, chosen.type, show(''))
        onClose()
      }}
      onClose={onClose}
    />
  )
}

type NameDialogProps = {
  title: string
  lead: string
  verb: string
  initial: string
  onConfirm: (path: string) => void
  onClose: () => void
}

function NameDialog({ title, lead, verb, initial, onConfirm, onClose }: NameDialogProps) {
  const [path, setPath] = useState(initial)
  const [error, setError] = useState<string | undefined>(undefined)
  const confirm = () => {
    const name = path.trim().split('/').filter(Boolean).join('/')
    if (name === '') return setError('This field is required.')
    onConfirm(name)
    onClose()
  }
  return (
    <ConfirmDialog title={title} lead={lead} verb={verb} look="primary" onConfirm={confirm} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          confirm()
        }}
      >
        <TextField
          label="Path"
          value={path}
          error={error}
          autoCapitalize="none"
          spellCheck={false}
          autoFocus
          onChange={({ target }) => setPath(target.value)}
        />
      </form>
    </ConfirmDialog>
  )
}
