import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { SelectField } from '../ui/field.tsx'
import { deleteKey, keysQuery, rotateKey } from './keys-api.ts'
import type { FreshKey } from './raw-key.tsx'

type KeyDialogProps = { apiKey: Key; onClose: () => void; onCloseFocus: (event: Event) => void }

export function RotateKeyDialog({
  apiKey,
  onRotated,
  onClose,
  onCloseFocus,
}: KeyDialogProps & { onRotated: (fresh: FreshKey) => void }) {
  const client = useQueryClient()
  const [hours, setHours] = useState('24')
  const rotation = useMutation({
    mutationFn: () => rotateKey(apiKey.id, Number(hours)),
    onSuccess: async ({ name, key, replaces }) => {
      onClose()
      onRotated({ name, key, replacedUntil: replaces.expiresAt })
      await client.invalidateQueries({ queryKey: keysQuery.queryKey })
    },
  })
  return (
    <AskDialog
      title={`Rotate ${apiKey.name}?`}
      lead="Creates a new key with the same permissions. It is shown only once."
      verb="Rotate key"
      look="primary"
      isPending={rotation.isPending}
      error={rotation.error}
      onConfirm={() => rotation.mutate()}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    >
      <SelectField label="The old key stops working" value={hours} onChange={(event) => setHours(event.target.value)}>
        <option value="0">Immediately</option>
        <option value="1">In 1 hour</option>
        <option value="24">In 1 day</option>
        <option value="168">In 1 week</option>
      </SelectField>
    </AskDialog>
  )
}

export function DeleteKeyDialog({
  apiKey,
  onDeleted,
  onClose,
  onCloseFocus,
}: KeyDialogProps & { onDeleted?: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteKey(apiKey.id),
    // Deleting removes the row and this dialog with it.
    onSuccess: () => {
      client.setQueryData(keysQuery.queryKey, (keys) => keys?.filter(({ id }) => id !== apiKey.id))
      onDeleted?.()
    },
  })
  return (
    <AskDialog
      title={`Delete ${apiKey.name}?`}
      lead="Requests with this key are rejected from now on. To block it temporarily, disable it instead."
      verb="Delete key"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    />
  )
}
