import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedInvite, Invite, InviteList } from '../../src/features/accounts/invites/schemas.ts'
import { AdminFrame } from '../admin/admin-frame.tsx'
import { LoadingRows } from '../admin/paging.tsx'
import { messageFor } from '../api/request.ts'
import { DefaultPlanOption, PlanOptions, toPlanLabel } from '../plans/plan-options.tsx'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Empty } from '../ui/empty.tsx'
import { SelectField } from '../ui/field.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { createInvite, invitesQuery, withdrawInvite } from './oversight-api.ts'

const WORDS: Record<InviteList['signUp'], string | null> = {
  invite: null,
  open: 'Anybody can open an account here without an invitation. With SIGN_UP=invite only those who bring one can.',
  closed:
    'Nobody can open an account here, with an invitation or without. With SIGN_UP=invite those who bring one can.',
}

/** `/admin/invites`: who may open an account where that takes an invitation. */
export function InvitesPage() {
  const query = useQuery(invitesQuery)
  return (
    <AdminFrame title="Invitations" lead="Each opens one account. The newest hundred are listed.">
      <Loaded query={query} what="The invitations" placeholder={<LoadingRows what="the invitations" />}>
        {({ invites, signUp }) => (
          <>
            {WORDS[signUp] && <Notice tone="note">{WORDS[signUp]}</Notice>}
            <NewInvite />
            <Invites invites={invites} />
          </>
        )}
      </Loaded>
    </AdminFrame>
  )
}

function NewInvite() {
  const client = useQueryClient()
  const [plan, setPlan] = useState('')
  const making = useMutation({
    mutationFn: () => createInvite(plan),
    onSettled: () => client.invalidateQueries({ queryKey: invitesQuery.queryKey }),
  })
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-end gap-3">
        <SelectField label="Plan of the new account" value={plan} onChange={(event) => setPlan(event.target.value)}>
          <DefaultPlanOption />
          <PlanOptions />
        </SelectField>
        <Button look="primary" isPending={making.isPending} onClick={() => making.mutate()}>
          Create invitation
        </Button>
      </div>
      {making.error && <Notice tone="problem">{messageFor(making.error)}</Notice>}
      {making.data && <Created invite={making.data} />}
    </div>
  )
}

function Created({ invite: { url } }: { invite: CreatedInvite }) {
  return (
    <Notice tone="good" title="Send this link to whom you invite">
      <p>It is shown this once and opens one account.</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-60 rounded-md bg-surface px-3 py-2 text-sm break-all">{url}</code>
        <CopyButton text={url} what="invitation link" />
      </div>
    </Notice>
  )
}

function Invites({ invites }: { invites: Invite[] }) {
  if (invites.length === 0) return <Empty title="Nobody is invited yet">An invitation is a link that you send.</Empty>
  return (
    <ul aria-label="Invitations" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {invites.map((invite) => (
        <InviteRow key={invite.id} invite={invite} />
      ))}
    </ul>
  )
}

function InviteRow({ invite: { id, createdBy, createdAt, usedAt, plan } }: { invite: Invite }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <li className="flex items-center gap-3 px-3 py-3 sm:px-4">
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-mono text-sm font-medium break-all">{id}</span>
          {usedAt ? <Badge>Used</Badge> : <Badge tone="good">Open</Badge>}
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span className="break-all">By {createdBy}</span>
          {plan !== null && <span>{plan === 'free' ? 'No plan' : `Plan ${toPlanLabel(plan)}`}</span>}
          <span>
            Made <Moment at={createdAt} as="minute" />
          </span>
          {usedAt && (
            <span>
              Used <Moment at={usedAt} as="minute" />
            </span>
          )}
        </p>
      </div>
      {!usedAt && (
        <Button aria-label={`Take back ${id}`} onClick={() => setAsking(true)}>
          Take back
        </Button>
      )}
      {isAsking && <WithdrawDialog id={id} onClose={() => setAsking(false)} />}
    </li>
  )
}

function WithdrawDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const client = useQueryClient()
  const withdrawal = useMutation({
    mutationFn: () => withdrawInvite(id),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: invitesQuery.queryKey }),
  })
  return (
    <AskDialog
      title="Take this invitation back?"
      lead="Whoever has its link can no longer open an account with it."
      verb="Take back"
      isPending={withdrawal.isPending}
      error={withdrawal.error}
      onConfirm={() => withdrawal.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}
