import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { messageFor } from '../api/request.ts'
import { DeleteKeyDialog, RotateKeyDialog } from '../keys/key-dialogs.tsx'
import { changeKey, keysQuery } from '../keys/keys-api.ts'
import type { FreshKey } from '../keys/raw-key.tsx'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'

const keepFocus = () => undefined

export function KeyActions({ apiKey, onRotated }: { apiKey: Key; onRotated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [asked, setAsked] = useState<'rotate' | 'delete' | null>(null)
  const rest = () => setAsked(null)
  const switching = useMutation({
    mutationFn: () => changeKey(apiKey.id, { disabled: !apiKey.disabled }),
    onSettled: () => client.invalidateQueries({ queryKey: keysQuery.queryKey }),
  })
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap gap-2">
        <Button disabled={apiKey.disabled} onClick={() => setAsked('rotate')}>
          Rotate
        </Button>
        <Button isPending={switching.isPending} onClick={() => switching.mutate()}>
          {apiKey.disabled ? 'Enable' : 'Disable'}
        </Button>
        <Button look="danger" onClick={() => setAsked('delete')}>
          Delete key
        </Button>
      </div>
      {apiKey.disabled && (
        <p className="text-sm text-muted">Requests with this key are rejected until you enable it again.</p>
      )}
      {switching.isError && <Notice tone="problem">{messageFor(switching.error)}</Notice>}
      {asked === 'rotate' && (
        <RotateKeyDialog apiKey={apiKey} onClose={rest} onRotated={onRotated} onCloseFocus={keepFocus} />
      )}
      {asked === 'delete' && (
        <DeleteKeyDialog
          apiKey={apiKey}
          onClose={rest}
          onDeleted={() => void navigate({ to: '/settings/keys' })}
          onCloseFocus={keepFocus}
        />
      )}
    </div>
  )
}
