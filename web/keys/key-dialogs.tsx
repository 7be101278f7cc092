import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { SelectField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Notice } from '../ui/notice.tsx'
import { KeyExamples } from './key-examples.tsx'
import { deleteKey, keysQuery, rotateKey } from './keys-api.ts'

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
    <ConfirmDialog
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
    </ConfirmDialog>
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
    <ConfirmDialog
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

/** `replacedUntil` is when the old key expires; null when it already has. */
export type FreshKey = { name: string; key: string; replacedUntil?: string | null }

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })

export function RawKey({ fresh, onDone }: { fresh: FreshKey; onDone: () => void }) {
  const codeRef = useRef<HTMLElement>(null)
  useEffect(() => codeRef.current?.focus(), [])
  return (
    <Notice tone="good" title={`API key ${fresh.name}`}>
      <p>
        Copy the key now. It is not shown again. {fresh.replacedUntil !== undefined && describeOld(fresh.replacedUntil)}
      </p>
      <code
        ref={codeRef}
        tabIndex={-1}
        className="rounded-md bg-surface px-2.5 py-1.5 font-mono text-[0.8125rem] break-all select-all"
      >
        {fresh.key}
      </code>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={fresh.key} what="key" />
        <Button onClick={onDone}>Done</Button>
      </div>
      <KeyExamples secret={fresh.key} />
    </Notice>
  )
}

function describeOld(until: string | null): string {
  return until ? `The old key works until ${moment.format(new Date(until))}.` : 'The old key no longer works.'
}
