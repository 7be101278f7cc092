import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Ban, CircleCheck, CreditCard, Ellipsis, LogOut, MailCheck } from 'lucide-react'
import { useRef, useState } from 'react'
import type { AccountChange, AdminUser } from '../../src/features/admin/accounts/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { Badge } from '../ui/badge.tsx'
import { IconButton } from '../ui/button.tsx'
import { SearchField } from '../ui/filters.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, LoadProblem, Notice } from '../ui/notice.tsx'
import { changeUser, endSessionsOf, usersQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'
import { NewUser, PlanForm } from './user-forms.tsx'

const route = getRouteApi('/signed-in/admin/users')

/** Page `/admin/users`. */
export function UsersPage() {
  const { search } = route.useSearch()
  const navigate = useNavigate()
  return (
    <AdminFrame title="Users" lead="All accounts on this server">
      <NewUser />
      <SearchField
        label="Search by name or email"
        placeholder="Name or email"
        value={search ?? ''}
        maxLength={254}
        onSearch={(words) =>
          void navigate({ to: '/admin/users', search: words ? { search: words } : {}, replace: true })
        }
        className="max-w-md"
      />
      <Users search={search ?? ''} />
    </AdminFrame>
  )
}

function Users({ search }: { search: string }) {
  const { data, error, refetch, ...paging } = useInfiniteQuery(usersQuery(search))
  const users = data?.pages.flatMap((page) => page.users)
  if (!users && error) return <LoadProblem what="users" error={error} onRetry={refetch} />
  if (!users) return <LoadingRows what="users" />
  if (users.length === 0) {
    return (
      <p role="status" className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        No users match “{search}”.
      </p>
    )
  }
  return (
    <>
      <ul aria-label="Users" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {users.map((user) => (
          <UserLine key={user.id} user={user} />
        ))}
      </ul>
      <ShowMore what="users" error={error} {...paging} />
    </>
  )
}

type Mode = 'rest' | 'plan' | 'disable' | 'end-sessions'

export function UserLine({ user }: { user: AdminUser }) {
  const isSelf = useQuery(sessionQuery).data?.user?.id === user.id
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [mode, setMode] = useState<Mode>('rest')
  const [remark, setRemark] = useState<string | null>(null)
  const change = useMutation({ mutationFn: (wish: AccountChange) => changeUser(user.id, wish) })
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
          trigger={<IconButton Icon={Ellipsis} ref={triggerRef} label={`Actions for ${user.email}`} />}
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
      <ErrorNotice error={change.error} />
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

type UserDialogProps = { user: AdminUser; onClose: () => void; onCloseFocus: (event: Event) => void }

export function DisableDialog({ user, onClose, onCloseFocus }: UserDialogProps) {
  return (
    <ConfirmDialog
      title={`Disable ${user.email}?`}
      lead="Signs out all sessions and rejects requests from this account’s keys and agents until you enable it again."
      verb="Disable account"
      run={() => changeUser(user.id, { disabled: true })}
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
  return (
    <ConfirmDialog
      title={`Sign out ${user.email} everywhere?`}
      lead="The account stays active and can sign in again."
      verb="End sessions"
      run={async () => {
        const ended = await endSessionsOf(user.id)
        onEnded(ended === 1 ? 'Ended 1 session.' : `Ended ${ended} sessions.`)
      }}
      onClose={onClose}
      onCloseFocus={onCloseFocus}
    />
  )
}
