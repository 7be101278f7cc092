import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AdminUser } from '../../src/features/admin/accounts/schemas.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { changeUser, endSessionsOf } from './admin-api.ts'

type UserDialogProps = { user: AdminUser; onClose: () => void; onCloseFocus: (event: Event) => void }

export function DisableDialog({ user, onClose, onCloseFocus }: UserDialogProps) {
  const client = useQueryClient()
  const disabling = useMutation({
    mutationFn: () => changeUser(client, user.id, { disabled: true }),
    onSuccess: onClose,
  })
  return (
    <AskDialog
      title={`Disable ${user.email}?`}
      lead="Signs out all sessions and rejects requests from this account’s keys and agents until you enable it again."
      verb="Disable account"
      isPending={disabling.isPending}
      error={disabling.error}
      onConfirm={() => disabling.mutate()}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    />
  )
}

export function EndSessionsDialog({
  user,
  onEnded,
  onClose,
  onCloseFocus,
}: UserDialogProps & { onEnded: (remark: string) => void }) {
  const ending = useMutation({
    mutationFn: () => endSessionsOf(user.id),
    onSuccess: (ended) => {
      onEnded(ended === 1 ? 'Ended 1 session.' : `Ended ${ended} sessions.`)
      onClose()
    },
  })
  return (
    <AskDialog
      title={`Sign out ${user.email} everywhere?`}
      lead="The account stays active and can sign in again."
      verb="End sessions"
      isPending={ending.isPending}
      error={ending.error}
      onConfirm={() => ending.mutate()}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    />
  )
}
