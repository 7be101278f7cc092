import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Ban, CircleCheck, CreditCard, Ellipsis, LogOut, MailCheck } from 'lucide-react'
import { useRef, useState } from 'react'
import { z } from 'zod'
import {
  AccountChange,
  type AdminUser,
  type CreatedUser,
  CreateUserRequest,
} from '../../src/features/admin/accounts/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { ApiError } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { SearchField } from '../ui/filters.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, LoadProblem, Notice } from '../ui/notice.tsx'
import { changeUser, createUser, endSessionsOf, usersQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows, ShowMore } from './paging.tsx'
import { DefaultPlanOption, PlanOptions, plansQuery } from './plan-options.tsx'

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
          <UserRow key={user.id} user={user} />
        ))}
      </ul>
      <ShowMore what="users" error={error} {...paging} />
    </>
  )
}

type Mode = 'rest' | 'plan' | 'disable' | 'end-sessions'

export function UserRow({ user }: { user: AdminUser }) {
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

/** An empty plan is the default one; a checked box is `on` in form data and absent otherwise. */
const NewUserFields = CreateUserRequest.extend({
  plan: z.string().transform((plan) => plan || undefined),
  sendMail: z
    .literal('on')
    .optional()
    .transform((tick) => tick === 'on'),
})

export function NewUser() {
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<CreatedUser | null>(null)
  return (
    <>
      {created && <Created {...created} />}
      {isOpen ? (
        <NewUserForm onCreated={setCreated} onClose={() => setOpen(false)} />
      ) : (
        <Button look="primary" className="justify-self-start" onClick={() => setOpen(true)}>
          Create user
        </Button>
      )}
    </>
  )
}

type FormProps = { onCreated: (created: CreatedUser) => void; onClose: () => void }

function NewUserForm({ onCreated, onClose }: FormProps) {
  const form = useForm(
    NewUserFields,
    async (fields) => {
      onCreated(await createUser(fields))
      onClose()
    },
    (error) => (error instanceof ApiError && error.status === 409 ? 'email' : null),
  )
  return (
    <Form form={form} verb="Create user" onCancel={onClose}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <TextField label="Email" name="email" type="email" autoFocus />
        <TextField label="Name" name="name" />
        <SelectField label="Plan" name="plan" defaultValue="">
          <DefaultPlanOption />
          <PlanOptions />
        </SelectField>
      </div>
      <CheckField
        label="Email a link to set the password"
        name="sendMail"
        defaultChecked
        hint="Without a mail server, the link is shown here for you to send."
      />
    </Form>
  )
}

function Created({ user: { email }, url, expiresAt }: CreatedUser) {
  if (url === null) {
    return (
      <Notice tone="good" title={`Account created for ${email}`}>
        We emailed a link to set the password. It expires <Moment at={expiresAt} as="minute" />.
      </Notice>
    )
  }
  return (
    <Notice tone="good" title={`Send this link to ${email}`}>
      <p>
        It sets the password, is shown only once, and expires <Moment at={expiresAt} as="minute" />.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-60 rounded-md bg-surface px-3 py-2 text-sm break-all">{url}</code>
        <CopyButton text={url} what="password link" />
      </div>
    </Notice>
  )
}

const PlanWish = z.object({
  plan: AccountChange.shape.plan,
  credits: z
    .string()
    .trim()
    .regex(/^\d+$/, 'Credits must be a whole number')
    .transform(Number)
    .pipe(AccountChange.shape.credits.unwrap()),
})

export function PlanForm({ user, onClose }: { user: AdminUser; onClose: () => void }) {
  const isLoaded = useQuery(plansQuery).isSuccess
  const form = useForm(PlanWish, async ({ plan, credits }) => {
    // Sending a plan marks it as paid, so an unchanged plan is omitted.
    await changeUser(user.id, { credits, ...(plan !== user.plan && { plan }) })
    onClose()
  })
  return (
    <Form form={form} verb="Save" onCancel={onClose}>
      <div className="grid max-w-md grid-cols-2 gap-4">
        <SelectField
          label="Plan"
          name="plan"
          // Remounts when the options load after the form opened.
          key={String(isLoaded)}
          defaultValue={user.plan}
          autoFocus
          hint="The plan is treated as paid."
        >
          <PlanOptions current={user.plan} />
        </SelectField>
        <TextField label="Credits" name="credits" inputMode="numeric" defaultValue={user.credits} />
      </div>
    </Form>
  )
}
