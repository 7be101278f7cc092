import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Ban, CircleCheck, CreditCard, Ellipsis, LogOut, MailCheck } from 'lucide-react'
import { useRef, useState } from 'react'
import type { AccountChange, AdminUser } from '../../src/features/admin/accounts/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { IconButton } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { changeUser } from './admin-api.ts'
import { PlanForm } from './plans/plan-form.tsx'
import { DisableDialog, EndSessionsDialog } from './user-dialogs.tsx'

type Mode = 'rest' | 'plan' | 'disable' | 'end-sessions'

export function UserRow({ user }: { user: AdminUser }) {
  const client = useQueryClient()
  const isSelf = useQuery(sessionQuery).data?.user?.id === user.id
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [mode, setMode] = useState<Mode>('rest')
  const [remark, setRemark] = useState<string | null>(null)
  const change = useMutation({ mutationFn: (wish: AccountChange) => changeUser(client, user.id, wish) })
  const rest = () => setMode('rest')
  const focusMenu = (event: Event) => {
    event.preventDefault()
    triggerRef.current?.focus()
  }
  return (
    <li className="grid grid-cols-1 gap-3 px-3 py-3 sm:px-4">
      <div className="flex items-center gap-3">
        <UserFacts user={user} isSelf={isSelf} />
        <Menu
          trigger={
            <IconButton ref={triggerRef} label={`Actions for ${user.email}`}>
              <Ellipsis aria-hidden className="size-4.5" />
            </IconButton>
          }
          onCloseFocus={(event) => mode !== 'rest' && event.preventDefault()}
        >
          <MenuItem Icon={CreditCard} onSelect={() => setMode('plan')}>
            Plan and credits
          </MenuItem>
          {!user.emailVerified && (
            <MenuItem Icon={MailCheck} onSelect={() => change.mutate({ emailVerified: true })}>
              Confirm email
            </MenuItem>
          )}
          <MenuItem Icon={LogOut} onSelect={() => setMode('end-sessions')}>
            End sessions
          </MenuItem>
          {user.disabled ? (
            <MenuItem Icon={CircleCheck} onSelect={() => change.mutate({ disabled: false })}>
              Enable
            </MenuItem>
          ) : (
            <MenuItem Icon={Ban} tone="danger" isDisabled={isSelf} onSelect={() => setMode('disable')}>
              Disable
            </MenuItem>
          )}
        </Menu>
      </div>
      {change.isError && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      {remark && <Notice tone="good">{remark}</Notice>}
      {mode === 'plan' && <PlanForm user={user} onClose={rest} />}
      {mode === 'disable' && <DisableDialog user={user} onClose={rest} onCloseFocus={focusMenu} />}
      {mode === 'end-sessions' && (
        <EndSessionsDialog user={user} onEnded={setRemark} onClose={rest} onCloseFocus={focusMenu} />
      )}
    </li>
  )
}

function UserFacts({ user, isSelf }: { user: AdminUser; isSelf: boolean }) {
  return (
    <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <span className="min-w-0 font-medium break-all">{user.email}</span>
        {isSelf && <Badge tone="good">You</Badge>}
        {user.isAdmin && <Badge>Admin</Badge>}
        {user.disabled && <Badge tone="problem">Disabled</Badge>}
        {!user.emailVerified && <Badge tone="warning">Email not confirmed</Badge>}
        {user.twoFactorEnabled && <Badge>Two-factor</Badge>}
      </p>
      <p className="flex flex-wrap gap-x-3 text-sm text-muted">
        {user.name !== user.email && <span className="min-w-0 break-words">{user.name}</span>}
        <span className="whitespace-nowrap">
          <span className="capitalize">{user.plan}</span>
          {user.plan !== 'free' && `, ${user.subscriptionStatus.replaceAll('_', ' ')}`}
        </span>
        <span className="whitespace-nowrap tabular-nums">{user.credits.toLocaleString('en')} credits</span>
        <span className="whitespace-nowrap">
          Since <Moment at={user.createdAt} />
        </span>
      </p>
    </div>
  )
}
