import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Ban, CircleCheck, Ellipsis, Pencil, RefreshCw, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { messageFor } from '../api/request.ts'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Notice } from '../ui/notice.tsx'
import { DeleteKeyDialog, RotateKeyDialog } from './key-dialogs.tsx'
import { KeyBadges, KeyDates } from './key-facts.tsx'
import { changeKey, keysQuery } from './keys-api.ts'
import type { FreshKey } from './raw-key.tsx'
import { RenameForm } from './rename-form.tsx'

type Mode = 'rest' | 'rename' | 'rotate' | 'delete'

export function KeyRow({ apiKey, onRotated }: { apiKey: Key; onRotated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [mode, setMode] = useState<Mode>('rest')
  const rest = () => setMode('rest')
  const switching = useMutation({
    mutationFn: () => changeKey(apiKey.id, { disabled: !apiKey.disabled }),
    onSettled: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  })
  const focusMenu = (event: Event) => {
    event.preventDefault()
    // A new key takes the focus itself.
    if (document.activeElement !== document.body) return
    const target = triggerRef.current?.isConnected ? triggerRef.current : document.querySelector('h1')
    target?.focus()
  }
  return (
    <li className="grid grid-cols-1 gap-3 py-3">
      <div className="flex items-center gap-3">
        {mode === 'rename' ? (
          <RenameForm apiKey={apiKey} onClose={rest} />
        ) : (
          <>
            <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
              <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
                <Link
                  to="/keys/$keyId"
                  params={{ keyId: apiKey.id }}
                  className="min-w-0 font-medium break-words text-accent underline underline-offset-2"
                >
                  {apiKey.name}
                </Link>
                <KeyBadges apiKey={apiKey} />
              </p>
              <KeyDates apiKey={apiKey} />
            </div>
            <Menu
              trigger={
                <IconButton ref={triggerRef} label={`Actions for ${apiKey.name}`}>
                  <Ellipsis aria-hidden className="size-4.5" />
                </IconButton>
              }
              onCloseFocus={(event) => mode !== 'rest' && event.preventDefault()}
            >
              <MenuItem Icon={Pencil} onSelect={() => setMode('rename')}>
                Rename
              </MenuItem>
              <MenuItem Icon={RefreshCw} isDisabled={apiKey.disabled} onSelect={() => setMode('rotate')}>
                Rotate
              </MenuItem>
              <MenuItem
                Icon={apiKey.disabled ? CircleCheck : Ban}
                isDisabled={switching.isPending}
                onSelect={() => switching.mutate()}
              >
                {apiKey.disabled ? 'Enable' : 'Disable'}
              </MenuItem>
              <MenuItem Icon={Trash2} tone="danger" onSelect={() => setMode('delete')}>
                Delete
              </MenuItem>
            </Menu>
          </>
        )}
      </div>
      {switching.isError && <Notice tone="problem">{messageFor(switching.error)}</Notice>}
      {mode === 'rotate' && (
        <RotateKeyDialog apiKey={apiKey} onClose={rest} onRotated={onRotated} onCloseFocus={focusMenu} />
      )}
      {mode === 'delete' && <DeleteKeyDialog apiKey={apiKey} onClose={rest} onCloseFocus={focusMenu} />}
    </li>
  )
}
